"""Run a program that we do not trust, and say how it did on its tests.

    base        the words: Submission, Tests, Report, Sandbox
    tasks       the tests of a data set's row, in any of the usual shapes
    local       the sandbox of this machine: warm fork servers, children in layers, split grading
    remote      SandboxFusion, Piston and E2B behind the same protocol
    wasm        Python in WebAssembly, where the kernel offers nothing
    inside/     what runs within: see there

Nothing that a program can write decides a verdict: expected values are not in its process.
"""
