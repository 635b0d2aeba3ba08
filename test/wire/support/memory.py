# SPDX-License-Identifier: MIT
"""What is in another process's memory. Needs NEEDS_PTRACE."""


def regions(pid):
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            span, access = line.split()[:2]
            if "r" not in access or "[v" in line:  # [vvar], [vsyscall]: the kernel's
                continue
            low, high = (int(end, 16) for end in span.split("-"))
            try:
                memory.seek(low)
                yield memory.read(high - low)
            except OSError:
                continue


def holds(pid, text):
    return any(text in region for region in regions(pid))
