package lookup

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/targets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChoose(t *testing.T) {
	t.Parallel()
	a, b := targets.NewTarget("s", "A", ""), targets.NewTarget("s,14333", "B", "")
	twice, other := targets.NewTarget("s", "twice", ""), targets.NewTarget("t", "twice", "")
	read := func() ([]targets.Target, error) { return []targets.Target{a, b, a, twice, other}, nil }
	got, err := choose([]string{"a", "S,14333/b", b.ID.String(), "t/twice"}, false, read)
	require.NoError(t, err)
	require.Equal(t, []targets.Target{a, b, {ID: b.ID}, other}, got)

	// A database that no run has had has the ID that its first run will give it.
	got, err = choose([]string{"tcp:s,1433/a", "new/one"}, true, func() ([]targets.Target, error) { panic("not needed") })
	require.NoError(t, err)
	require.Equal(t, a.ID, got[0].ID)
	require.Equal(t, targets.NewTarget("new", "one", ""), got[1])

	_, err = choose([]string{"TWICE"}, true, read)
	require.EqualError(t, err, `2 servers have a database "TWICE": want SERVER/DATABASE, such as s/twice`)
	_, err = choose([]string{"a", "s/c", "x"}, false, read)
	require.EqualError(t, err, "not in the run: s/c, x; jobagent execution targets lists its databases")
	_, err = choose([]string{"x"}, true, read)
	require.ErrorContains(t, err, "not among the databases that runs had, and no member of the job's target groups: x; name one that is new as SERVER/DATABASE")
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprint("x", i))
	}
	_, err = choose(many, false, read)
	require.ErrorContains(t, err, "x9 and 2 more;")
	_, err = choose(make([]string, 5001), false, read)
	require.EqualError(t, err, "5001 databases are named: want at most 5000; to run on all databases, leave the flag out")
}
