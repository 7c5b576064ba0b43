//go:build linux

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A process of the agent's own user reads nothing of the agent: neither its environment, nor its
// memory, nor a file that the agent has inherited. The agent still sees its own processes.
func TestChildReadsNothingOfItsAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "agent")
	// Another process makes the copy, because a file that this process writes is open in each
	// process that other tests start, and cannot be executed then ("text file busy").
	require.NoError(t, exec.Command("cp", os.Args[0], binary).Run())
	require.NoError(t, os.Chmod(binary, 0o755))
	secret, err := os.Create(filepath.Join(dir, "key"))
	require.NoError(t, err)
	defer secret.Close()
	_, err = secret.WriteString("private")
	require.NoError(t, err)
	run := func(protect string) string {
		cmd := exec.Command(binary, helperArg, "protected", protect)
		cmd.Env, cmd.ExtraFiles, cmd.Stderr = []string{"SECRET=s"}, []*os.File{secret}, os.Stderr
		if os.Geteuid() == 0 { // root reads everything
			for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
				require.NoError(t, os.Chmod(d, 0o755))
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.Output()
		require.NoError(t, err, string(out))
		return string(out)
	}
	const works = "finds its child: true\nreads its cgroup: true\nopens its files: true\nreads the inherited file: private\n"
	require.Equal(t, "environ: true\nmem: true\ninherited: true\ncore: same\n"+works, run("no"))
	require.Equal(t, "environ: false\nmem: false\ninherited: false\ncore: 0\n"+works, run("yes"))
}
