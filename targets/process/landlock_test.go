//go:build linux

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The agent's files are hidden from a process of the agent's user, and all other operations work.
// Without the protection, the process can use the files.
func TestAgentFilesAreHidden(t *testing.T) {
	t.Parallel()
	if landlockVersion() < landlockLeast {
		t.Skip("the kernel has no Landlock, so the files are not hidden, and the agent warns of it")
	}
	run := func(mode string) string {
		dir := t.TempDir()
		for _, one := range []string{"agent/keys", "agent/real", "work", "open", "unlisted/within"} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, one), 0o755))
		}
		binary := filepath.Join(dir, "binary")
		content, err := os.ReadFile(os.Args[0])
		require.NoError(t, err)
		// A process that another test forks meanwhile would hold the file open for writing until
		// its exec: "text file busy".
		syscall.ForkLock.RLock()
		err = os.WriteFile(binary, content, 0o755)
		syscall.ForkLock.RUnlock()
		require.NoError(t, err)
		for _, one := range []string{"agent/config", "agent/keys/key", "agent/real/dsn", "agent/beside", "open/file", "unlisted/within/key", "unlisted/within/beside"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, one), []byte("text"), 0o644))
		}
		require.NoError(t, os.Symlink("real/dsn", filepath.Join(dir, "agent/dsn")))
		unlisted := filepath.Join(dir, "unlisted")
		require.NoError(t, os.Chmod(unlisted, 0o311))
		t.Cleanup(func() { require.NoError(t, os.Chmod(unlisted, 0o755)) })
		cmd := exec.Command(binary, helperArg, "fenced", dir, mode)
		cmd.Env, cmd.Stderr, cmd.Dir = []string{}, os.Stderr, "/"
		if os.Geteuid() == 0 { // nothing is hidden from root
			require.NoError(t, filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
				require.NoError(t, err)
				return os.Lchown(path, 65534, 65534)
			}))
			for d := filepath.Dir(dir); d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
				require.NoError(t, os.Chmod(d, 0o755))
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.Output()
		require.NoError(t, err, string(out))
		return string(out)
	}
	allowed := ""
	for _, one := range []string{"read beside", "write beside", "create in the own directory", "create a temporary file", "move between directories",
		"read /etc/passwd", "write /dev/null", "read /proc/self/status", "run a program", "list the agent's directory",
		"read beyond a directory that cannot be listed"} {
		allowed += one + ": true\n"
	}
	forbidden := func(result string) (text string) {
		for _, one := range []string{"read the configuration", "read a key", "read a key beyond a directory that cannot be listed", "read by a link", "read the target of a link", "read by a program",
			"write the configuration", "link the configuration", "create a key", "move the keys", "replace the configuration",
			"replace the link", "remove the configuration"} {
			text += one + ": " + result + "\n"
		}
		return text
	}
	require.Equal(t, "exposed: \n"+allowed+forbidden("false"), run("hidden"))
	require.Equal(t, "exposed: \n"+allowed+forbidden("true"), run("agent_files"))
}

// burgle tries what a process should and should not be able to do with the files below dir.
func burgle(dir string) {
	in := func(name string) string { return filepath.Join(dir, name) }
	try := func(what string, err error) { fmt.Printf("%s: %v\n", what, err == nil) }
	read := func(path string) error {
		text, err := os.ReadFile(path)
		if err == nil && len(text) == 0 {
			err = os.ErrInvalid
		}
		return err
	}
	write := func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("text")
			f.Close()
		}
		return err
	}
	create := func(path string) error { return os.WriteFile(path, []byte("text"), 0o600) }
	run := func(name string, args ...string) error { return exec.Command(name, args...).Run() }

	try("read beside", read(in("agent/beside")))
	try("write beside", write(in("agent/beside")))
	try("create in the own directory", create(filepath.Join(os.Getenv("JOBAGENT_DIRECTORY"), "new")))
	try("create a temporary file", create(filepath.Join(os.TempDir(), "temporary")))
	try("move between directories", os.Rename(in("open/file"), filepath.Join(os.Getenv("JOBAGENT_DIRECTORY"), "moved")))
	try("read /etc/passwd", read("/etc/passwd"))
	try("write /dev/null", write("/dev/null"))
	try("read /proc/self/status", read("/proc/self/status"))
	try("run a program", run("/bin/cat", in("agent/beside")))
	_, err := os.ReadDir(in("agent"))
	try("list the agent's directory", err)
	try("read beyond a directory that cannot be listed", read(in("unlisted/within/beside")))

	try("read the configuration", read(in("agent/config")))
	try("read a key", read(in("agent/keys/key")))
	try("read a key beyond a directory that cannot be listed", read(in("unlisted/within/key")))
	try("read by a link", read(in("agent/dsn")))
	try("read the target of a link", read(in("agent/real/dsn")))
	try("read by a program", run("/bin/cat", in("agent/config")))
	try("write the configuration", write(in("agent/config")))
	try("link the configuration", os.Link(in("agent/config"), in("open/link")))
	try("create a key", create(in("agent/keys/new")))
	try("move the keys", os.Rename(in("agent/keys"), in("open/keys")))
	try("replace the configuration", os.Rename(in("agent/beside"), in("agent/config")))
	try("replace the link", os.Remove(in("agent/dsn")))
	try("remove the configuration", os.Remove(in("agent/config")))
}

// playFencedAgent plays an agent whose files lie below dir, and that runs the burglar.
func playFencedAgent(dir string, agentFiles bool) int {
	in := func(name string) string { return filepath.Join(dir, name) }
	r, err := NewRunner(Config{
		WorkDir: in("work"), Hidden: []string{in("agent/config"), in("agent/keys"), in("agent/dsn"), in("agent/missing"), in("agent/beside/none"), in("unlisted/within/key"), "/dev/fd/63"},
		Entries: []Entry{{Name: "helper", Path: os.Args[0], Args: []string{helperArg}, ArgsPattern: ".*", AgentFiles: agentFiles}},
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("exposed:", r.Methods()[0].Exposed)
	r.watch = func(output []byte) { os.Stdout.Write(output) }
	if res := r.Run(context.Background(), newAttempt("burglar", dir)); res.Err != nil {
		fmt.Println(res.Err)
		return 1
	}
	return 0
}
