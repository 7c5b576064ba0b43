//go:build linux

package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// leftProcesses lists the processes of this test binary that still run as helpers.
func leftProcesses() (all []string) {
	for _, s := range allProcesses() {
		command := readFile("/proc/"+strconv.Itoa(s.pid), "cmdline")
		if s.running() && strings.HasPrefix(command, os.Args[0]+"\x00"+helperArg) {
			all = append(all, fmt.Sprint(s.pid, " ", strings.ReplaceAll(command, "\x00", " ")))
		}
	}
	return all
}

// leftProcess starts a process of a tree, and does not end the tree.
func leftProcess(t *testing.T, tree *tree, key uuid.UUID) *os.Process {
	t.Helper()
	cmd := exec.Command(os.Args[0], helperArg, "wait")
	cmd.Env = []string{markerVariable + "=" + key.String()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if tree.fd != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(tree.fd.Fd())
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd.Process
}

func TestOwnCgroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ cgroup, mounts, mount, dir string }{
		"unified": {
			"0::/system.slice/jobagent.service/agent\n",
			"25 30 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n",
			"/sys/fs/cgroup", "/sys/fs/cgroup/system.slice/jobagent.service/agent",
		},
		"hybrid": {
			"4:memory:/x\n0::/\n",
			"40 31 0:37 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw\n",
			"/sys/fs/cgroup/uni fied", "/sys/fs/cgroup/uni fied",
		},
		"container with a part of the tree": {
			"0::/docker/abc\n", "25 30 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "/sys/fs/cgroup", "/sys/fs/cgroup",
		},
		"other part": {"0::/../other\n", "25 30 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "", ""},
		"version 1":  {"4:memory:/x\n", "40 31 0:37 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "", ""},
		"nothing":    {"", "", "", ""},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup"), []byte(c.cgroup), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "mountinfo"), []byte(c.mounts), 0o600))
		mount, own, err := ownCgroup(dir)
		require.Equal(t, c.mount, mount, name)
		require.Equal(t, c.dir, own, name)
		require.Equal(t, c.mount == "", err != nil, name)
	}
}

// systemd-run becomes the process, so the arguments of the entry come last and as they are.
func TestSystemdArguments(t *testing.T) {
	t.Parallel()
	h := &host{systemd: "/usr/bin/systemd-run", scopes: "/sys/fs/cgroup/system.slice"}
	way, err := h.memoryWay(MemoryRefuse)
	require.NoError(t, err)
	require.Equal(t, bySystemd, way)
	limits := limits{memory: 1 << 20, way: way, processes: 7}
	tree, err := h.newTree("k", 3, limits)
	require.NoError(t, err)
	require.Equal(t, "/sys/fs/cgroup/system.slice/jobagent-k-3.scope", tree.cgroup)
	require.False(t, tree.polled(limits))
	cmd := &exec.Cmd{Path: "/bin/echo", Args: []string{"/bin/echo", "--uid=0", "b"}}
	tree.useSystemd(cmd, &entry{user: &identity{credential: syscall.Credential{Uid: 5, Gid: 6}}})
	require.Equal(t, "/usr/bin/systemd-run", cmd.Path)
	require.Equal(t, []string{
		"/usr/bin/systemd-run", "--scope", "--quiet", "--collect", "--slice=system.slice", "--unit=jobagent-k-3.scope",
		"--property=MemoryMax=1048576", "--property=MemorySwapMax=0", "--property=OOMPolicy=kill", "--property=TasksMax=7",
		"--uid=5", "--gid=6", "--", "/bin/echo", "--uid=0", "b",
	}, cmd.Args)
	require.NotEmpty(t, tree.outOfMemory(limits, &ExitError{Code: 137, Signal: "SIGKILL"}))
	require.Empty(t, tree.outOfMemory(limits, &ExitError{Code: 1}))
	require.NoError(t, tree.close())
}

func TestReadStat(t *testing.T) {
	t.Parallel()
	s, ok := readStat(os.Getpid())
	require.True(t, ok)
	require.Equal(t, os.Getppid(), s.parent)
	require.Equal(t, syscall.Getpgrp(), s.group)
	require.True(t, s.running())
	require.Positive(t, residentBytes(s.pid))
	_, ok = readStat(1 << 30)
	require.False(t, ok)
}
