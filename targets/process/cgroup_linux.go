package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ownCgroup returns the mount point of cgroup v2 and the directory of the cgroup of a process. proc
// is the directory of the process in /proc.
func ownCgroup(proc string) (mount, dir string, err error) {
	path, found := "", false
	for line := range strings.Lines(readFile(proc, "cgroup")) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path, found = rest, true
		}
	}
	// mountinfo: number, parent, device, root, mount point, options, optional fields, "-", type, …
	for line := range strings.Lines(readFile(proc, "mountinfo")) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		root, point := unescapeMount(fields[3]), unescapeMount(fields[4])
		rel, err := filepath.Rel(root, path)
		if !found || err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			continue
		}
		return point, filepath.Join(point, rel), nil
	}
	return "", "", errors.New("this machine has no cgroup v2 that the agent is in")
}

// unescapeMount decodes the escapes of mountinfo: \040 is a blank.
func unescapeMount(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// members returns the processes of a cgroup; none if the cgroup does not exist.
func members(dir string) (pids []int) {
	for _, field := range strings.Fields(readFile(dir, "cgroup.procs")) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killCgroup kills all processes of a cgroup, and waits until they have ended.
func killCgroup(dir string, limit time.Duration) error {
	events, err := os.Open(filepath.Join(dir, "cgroup.events"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer events.Close()
	if err := writeFile(dir, "cgroup.kill", "1"); err != nil && !gone(err) {
		return err
	}
	deadline := time.Now().Add(limit)
	buffer := make([]byte, 4096)
	for {
		n, err := events.ReadAt(buffer, 0)
		if gone(err) || strings.Contains(string(buffer[:n]), "populated 0") {
			return nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("the processes of %s did not end", dir)
		}
		// The kernel reports each change of the file.
		wait := []unix.PollFd{{Fd: int32(events.Fd()), Events: unix.POLLPRI}}
		unix.Poll(wait, int(min(left, 100*time.Millisecond).Milliseconds())+1) //nolint:errcheck // the loop reads again
	}
}

// gone reports whether a cgroup was removed.
func gone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) }

// readFile returns the content of a file of the kernel; empty if it cannot be read.
func readFile(dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return string(text)
}

// writeFile writes a file of the kernel.
func writeFile(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
