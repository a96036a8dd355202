"""Which system calls a confined program may make, and their numbers on the machines that are known.

A name that a machine does not have is left out there. What is on no list answers EPERM.
"""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


def _table(text: str) -> dict[str, int]:
    return {name: int(number) for name, _, number in (word.partition("=") for word in text.split())}


ALLOWED = _words("""
    read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask
    rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select sched_yield mremap msync mincore madvise
    dup dup2 pause nanosleep getitimer alarm setitimer getpid sendto recvfrom sendmsg recvmsg shutdown
    getsockname getpeername socketpair setsockopt getsockopt clone exit kill uname fcntl fsync fdatasync
    getdents getcwd chdir fchdir readlink umask gettimeofday getrlimit getrusage sysinfo times getuid getgid
    geteuid getegid getppid getpgrp getgroups getresuid getresgid getpgid getsid rt_sigpending rt_sigtimedwait
    rt_sigsuspend sigaltstack statfs fstatfs getpriority sched_getparam sched_getscheduler
    sched_get_priority_max sched_get_priority_min prctl arch_prctl gettid time futex sched_getaffinity
    epoll_create getdents64 set_tid_address restart_syscall fadvise64 timer_create timer_settime timer_gettime
    timer_getoverrun timer_delete clock_gettime clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl
    tgkill openat newfstatat readlinkat faccessat pselect6 ppoll set_robust_list get_robust_list epoll_pwait
    signalfd timerfd_create eventfd timerfd_settime timerfd_gettime signalfd4 eventfd2 epoll_create1 dup3 pipe2
    preadv pwritev prlimit64 getcpu getrandom membarrier preadv2 pwritev2 statx rseq clone3 close_range openat2
    faccessat2 epoll_pwait2 futex_waitv
""")
"""What honest programs make; some of these only with the arguments that `seccomp` lets through."""

LETHAL = _words("""
    ptrace process_vm_readv process_vm_writev kexec_load init_module finit_module bpf mount umount2 pivot_root
    unshare setns userfaultfd perf_event_open io_uring_setup pidfd_getfd pidfd_send_signal rt_sigqueueinfo
    rt_tgsigqueueinfo open_by_handle_at keyctl add_key request_key reboot
""")
"""No honest program makes these: the kernel ends the process with SIGSYS, and that is the evidence."""

SERVER = _words("""
    wait4 waitid prctl prlimit64 setrlimit setgroups setresgid setresuid seccomp landlock_restrict_self pidfd_open
""")
"""What the fork server and a child that puts on its layers make besides; taken away before a program runs."""

NATIVE = _words("""
    fork vfork execve execveat wait4 waitid mkdir mkdirat unlink unlinkat rename renameat renameat2 rmdir ftruncate
    chmod fchmod fchmodat setpgid setsid fallocate symlink symlinkat link linkat utimensat sched_setaffinity
    sched_setscheduler get_mempolicy setpriority
""")
"""What a compiler needs besides, inside namespaces of its own."""

X86_64 = _table("""
    execveat=322
    read=0 write=1 open=2 close=3 stat=4 fstat=5 lstat=6 poll=7 lseek=8 mmap=9 mprotect=10 munmap=11 brk=12
    rt_sigaction=13 rt_sigprocmask=14 rt_sigreturn=15 ioctl=16 pread64=17 pwrite64=18 readv=19 writev=20
    access=21 pipe=22 select=23 sched_yield=24 mremap=25 msync=26 mincore=27 madvise=28 dup=32 dup2=33 pause=34
    nanosleep=35 getitimer=36 alarm=37 setitimer=38 getpid=39 sendto=44 recvfrom=45 sendmsg=46 recvmsg=47
    shutdown=48 getsockname=51 getpeername=52 socketpair=53 setsockopt=54 getsockopt=55 clone=56 fork=57
    vfork=58 execve=59 exit=60 wait4=61 kill=62 uname=63 fcntl=72 fsync=74 fdatasync=75 ftruncate=77 getdents=78
    getcwd=79 chdir=80 fchdir=81 rename=82 mkdir=83 rmdir=84 link=86 unlink=87 symlink=88 readlink=89 chmod=90
    fchmod=91 umask=95 gettimeofday=96 getrlimit=97 getrusage=98 sysinfo=99 times=100 ptrace=101 getuid=102
    getgid=104 geteuid=107 getegid=108 setpgid=109 getppid=110 getpgrp=111 setsid=112 getgroups=115
    setgroups=116 setresuid=117 getresuid=118 setresgid=119 getresgid=120 getpgid=121 getsid=124
    rt_sigpending=127 rt_sigtimedwait=128 rt_sigqueueinfo=129 rt_sigsuspend=130 sigaltstack=131 statfs=137
    fstatfs=138 getpriority=140 setpriority=141 sched_getparam=143 sched_setscheduler=144 sched_getscheduler=145
    sched_get_priority_max=146 sched_get_priority_min=147 pivot_root=155 prctl=157 arch_prctl=158 setrlimit=160
    mount=165 umount2=166 reboot=169 init_module=175 gettid=186 time=201 futex=202 sched_setaffinity=203
    sched_getaffinity=204 epoll_create=213 getdents64=217 set_tid_address=218 restart_syscall=219 fadvise64=221
    timer_create=222 timer_settime=223 timer_gettime=224 timer_getoverrun=225 timer_delete=226 clock_gettime=228
    clock_getres=229 clock_nanosleep=230 exit_group=231 epoll_wait=232 epoll_ctl=233 tgkill=234
    get_mempolicy=239 kexec_load=246 waitid=247 add_key=248 request_key=249 keyctl=250 openat=257 mkdirat=258
    newfstatat=262 unlinkat=263 renameat=264 linkat=265 symlinkat=266 readlinkat=267 fchmodat=268 faccessat=269
    pselect6=270 ppoll=271 unshare=272 set_robust_list=273 get_robust_list=274 utimensat=280 epoll_pwait=281
    signalfd=282 timerfd_create=283 eventfd=284 fallocate=285 timerfd_settime=286 timerfd_gettime=287
    signalfd4=289 eventfd2=290 epoll_create1=291 dup3=292 pipe2=293 preadv=295 pwritev=296 rt_tgsigqueueinfo=297
    perf_event_open=298 prlimit64=302 open_by_handle_at=304 setns=308 getcpu=309 process_vm_readv=310
    process_vm_writev=311 finit_module=313 renameat2=316 seccomp=317 getrandom=318 bpf=321 userfaultfd=323
    membarrier=324 preadv2=327 pwritev2=328 statx=332 rseq=334 pidfd_send_signal=424 io_uring_setup=425
    pidfd_open=434 clone3=435 close_range=436 openat2=437 pidfd_getfd=438 faccessat2=439 epoll_pwait2=441
    landlock_restrict_self=446 futex_waitv=449
""")

AARCH64 = _table("""
    execveat=281
    getcwd=17 eventfd2=19 epoll_create1=20 epoll_ctl=21 epoll_pwait=22 dup=23 dup3=24 fcntl=25 ioctl=29
    mkdirat=34 unlinkat=35 symlinkat=36 linkat=37 renameat=38 umount2=39 mount=40 pivot_root=41 statfs=43
    fstatfs=44 ftruncate=46 fallocate=47 faccessat=48 chdir=49 fchdir=50 fchmod=52 fchmodat=53 openat=56
    close=57 pipe2=59 getdents64=61 lseek=62 read=63 write=64 readv=65 writev=66 pread64=67 pwrite64=68
    preadv=69 pwritev=70 pselect6=72 ppoll=73 signalfd4=74 readlinkat=78 newfstatat=79 fstat=80 fsync=82
    fdatasync=83 timerfd_create=85 timerfd_settime=86 timerfd_gettime=87 utimensat=88 exit=93 exit_group=94
    waitid=95 set_tid_address=96 unshare=97 futex=98 set_robust_list=99 get_robust_list=100 nanosleep=101
    getitimer=102 setitimer=103 kexec_load=104 init_module=105 timer_create=107 timer_gettime=108
    timer_getoverrun=109 timer_settime=110 timer_delete=111 clock_gettime=113 clock_getres=114
    clock_nanosleep=115 ptrace=117 sched_setscheduler=119 sched_getscheduler=120 sched_getparam=121
    sched_setaffinity=122 sched_getaffinity=123 sched_yield=124 sched_get_priority_max=125
    sched_get_priority_min=126 restart_syscall=128 kill=129 tgkill=131 sigaltstack=132 rt_sigsuspend=133
    rt_sigaction=134 rt_sigprocmask=135 rt_sigpending=136 rt_sigtimedwait=137 rt_sigqueueinfo=138
    rt_sigreturn=139 setpriority=140 getpriority=141 reboot=142 setresuid=147 getresuid=148 setresgid=149
    getresgid=150 times=153 setpgid=154 getpgid=155 getsid=156 setsid=157 getgroups=158 setgroups=159 uname=160
    getrlimit=163 setrlimit=164 getrusage=165 umask=166 prctl=167 getcpu=168 gettimeofday=169 getpid=172
    getppid=173 getuid=174 geteuid=175 getgid=176 getegid=177 gettid=178 sysinfo=179 socketpair=199
    getsockname=204 getpeername=205 sendto=206 recvfrom=207 setsockopt=208 getsockopt=209 shutdown=210
    sendmsg=211 recvmsg=212 brk=214 munmap=215 mremap=216 add_key=217 request_key=218 keyctl=219 clone=220
    execve=221 mmap=222 fadvise64=223 mprotect=226 msync=227 mincore=232 madvise=233 get_mempolicy=236
    rt_tgsigqueueinfo=240 perf_event_open=241 wait4=260 prlimit64=261 setns=268 process_vm_readv=270
    process_vm_writev=271 finit_module=273 renameat2=276 seccomp=277 getrandom=278 bpf=280 userfaultfd=282
    membarrier=283 preadv2=286 pwritev2=287 statx=291 rseq=293 pidfd_send_signal=424 io_uring_setup=425
    pidfd_open=434 clone3=435 close_range=436 openat2=437 pidfd_getfd=438 faccessat2=439 epoll_pwait2=441
    landlock_restrict_self=446 futex_waitv=449
""")

TABLES = {"x86_64": (0xC000003E, X86_64), "aarch64": (0xC00000B7, AARCH64)}
"""Machine -> the kernel's word for its calls, and its numbers."""
