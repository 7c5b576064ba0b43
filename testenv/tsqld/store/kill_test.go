package store

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// killDir is the environment variable with the directory of TestKilledWriter's child process.
const killDir = "TSQLD_STORE_KILL_DIR"

// TestKilledWriter starts itself as a process that commits pairs of numbers and prints each pair
// after its commit, and kills that process. Every printed number must be there, and no number
// without its partner from the same transaction.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv(killDir); dir != "" {
		writeUntilKilled(t, dir)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWriter$")
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	last := int64(0)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if n, ok := strings.CutPrefix(lines.Text(), "committed "); ok {
			last, err = strconv.ParseInt(n, 10, 64)
			require.NoError(t, err)
		}
		if last == 50 {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait())

	s, err := Open(t.Context(), Config{Dir: dir})
	require.NoError(t, err)
	c := acquire(t, s, 5)
	require.Equal(t, "ok", value(t, c, "PRAGMA d5.integrity_check"))
	found := value(t, c, "SELECT max(a) FROM d5.t").(int64)
	require.GreaterOrEqual(t, found, last)
	require.Equal(t, 2*found, value(t, c, "SELECT count(*) FROM d5.t"))
	s.Release(c)
	require.NoError(t, s.Close())
}

// writeUntilKilled is the child process.
func writeUntilKilled(t *testing.T, dir string) {
	s, err := Open(t.Context(), Config{Dir: dir})
	require.NoError(t, err)
	c := acquire(t, s, 5)
	run(t, c, "CREATE TABLE d5.t(a INTEGER) STRICT")
	for i := int64(1); i < 1_000_000; i++ {
		require.NoError(t, c.Begin(t.Context()))
		for range 2 {
			run(t, c, "INSERT INTO d5.t VALUES (?1)", types.Value(i))
		}
		require.NoError(t, c.Commit())
		_, err := os.Stdout.WriteString("committed " + strconv.FormatInt(i, 10) + "\n")
		require.NoError(t, err)
	}
}

func FuzzConstraintError(f *testing.F) {
	f.Add(2067, "constraint failed: UNIQUE constraint failed: t5.c1, t5.c2")
	f.Add(2067, "constraint failed: UNIQUE constraint failed: index 'i5_2_n'")
	f.Add(275, "constraint failed: CHECK constraint failed: k9")
	f.Add(1299, "constraint failed: NOT NULL constraint failed: t5.c1")
	f.Add(787, "constraint failed: FOREIGN KEY constraint failed")
	f.Fuzz(func(t *testing.T, code int, msg string) {
		require.Error(t, constraintError(code, msg))
	})
}
