package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// stat has the used fields of /proc/PID/stat.
type stat struct {
	pid, parent, group int
	state              byte
	started            uint64 // clock ticks since the machine's start
}

// readStat returns the stat of a process, and false for a process that does not exist.
func readStat(pid int) (stat, bool) {
	// The name is in parentheses and may contain anything.
	text := readFile("/proc/"+strconv.Itoa(pid), "stat")
	end := strings.LastIndexByte(text, ')')
	if end < 0 {
		return stat{}, false
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 20 {
		return stat{}, false
	}
	s := stat{pid: pid, state: fields[0][0]}
	var err1, err2, err3 error
	s.parent, err1 = strconv.Atoi(fields[1])
	s.group, err2 = strconv.Atoi(fields[2])
	s.started, err3 = strconv.ParseUint(fields[19], 10, 64)
	return s, errors.Join(err1, err2, err3) == nil
}

// running reports whether the process has not ended.
func (s stat) running() bool { return s.state != 'Z' && s.state != 'X' }

// allProcesses returns the processes of the machine.
func allProcesses() (all []stat) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := readStat(pid); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// isMarked reports whether the environment with which a process was started has the marker.
func isMarked(pid int, key string) bool {
	environment := "\x00" + readFile("/proc/"+strconv.Itoa(pid), "environ")
	return strings.Contains(environment, "\x00"+markerVariable+"="+key+"\x00")
}

// treeMembers returns the running processes that descend from the first one, are in its group, or
// have the marker. It ignores processes that are older than the first one.
func treeMembers(key string, first int) (pids []int) {
	leader, ok := readStat(first)
	if !ok {
		return nil
	}
	all := allProcesses()
	in := map[int]bool{first: true}
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			if !in[s.pid] && (in[s.parent] || s.group == first) {
				in[s.pid], grown = true, true
			}
		}
	}
	for _, s := range all {
		if s.running() && (in[s.pid] || s.started >= leader.started && isMarked(s.pid, key)) {
			pids = append(pids, s.pid)
		}
	}
	return pids
}

// killMarked kills every process whose environment has the marker, and waits until they have ended.
// It returns their number. first, if not 0, is the first process of the tree, which has ended but
// was not reaped: its group is killed, too, and older processes are ignored.
func killMarked(key string, first int, limit time.Duration) (n int, err error) {
	var oldest uint64
	if leader, ok := readStat(first); ok && first != 0 {
		oldest = leader.started
	}
	for deadline := time.Now().Add(limit); ; {
		found, err := killMarkedOnce(key, first, oldest, deadline)
		n += found
		if err != nil || found == 0 {
			return n, err
		}
		if !time.Now().Before(deadline) {
			return n, fmt.Errorf("processes with %s=%s still start others", markerVariable, key)
		}
	}
}

// killMarkedOnce kills the processes that it finds, and waits until they have ended.
func killMarkedOnce(key string, first int, oldest uint64, deadline time.Time) (n int, err error) {
	var handles []unix.PollFd
	defer func() {
		for _, one := range handles {
			unix.Close(int(one.Fd))
		}
	}()
	for _, s := range allProcesses() {
		if s.started < oldest || !s.running() || (first == 0 || s.group != first) && !isMarked(s.pid, key) {
			continue
		}
		handle, err := unix.PidfdOpen(s.pid, 0)
		if err != nil {
			continue // the process has ended
		}
		handles = append(handles, unix.PollFd{Fd: int32(handle), Events: unix.POLLIN})
		// Another process may have the number by now, but not the handle.
		if again, ok := readStat(s.pid); ok && again.started == s.started {
			if err := unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0); err == nil {
				n++
			} else if !errors.Is(err, unix.ESRCH) {
				return n, fmt.Errorf("kill process %d: %w", s.pid, err)
			}
		}
	}
	for i := range handles {
		left := max(0, time.Until(deadline))
		ready, err := ignoringEINTR(func() (int, error) {
			return unix.Poll(handles[i:i+1], int(left.Milliseconds()))
		})
		if err == nil && ready == 0 {
			return n, errors.New("a killed process did not end")
		}
	}
	return n, nil
}

// residentBytes returns the resident memory of a process; 0 if it has ended.
func residentBytes(pid int) int64 {
	fields := strings.Fields(readFile("/proc/"+strconv.Itoa(pid), "statm"))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
