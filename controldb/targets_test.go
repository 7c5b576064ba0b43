package controldb_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// registerTargets registers until nothing is left, and returns the number of calls that did
// something.
func (c *control) registerTargets(t *testing.T) int {
	t.Helper()
	for calls := 0; ; calls++ {
		more, err := c.RegisterTargets(t.Context())
		require.NoError(t, err)
		if !more {
			return calls
		}
	}
}

// resolveMany has one run of job resolve to databases dFROM to dTO of server s.
func (c *control) resolveMany(t *testing.T, term controldb.TermID, job string, from, to int) {
	t.Helper()
	c.start(t, job)
	res := c.passMax(t, term, 1)
	require.Len(t, res.Tasks, 1)
	var list []targets.Target
	for i := from; i <= to; i++ {
		list = append(list, targets.NewTarget("s", fmt.Sprint("d", i), ""))
	}
	require.NoError(t, c.CompleteResolution(t.Context(), term, res.Tasks[0].ID, controldb.Resolution{Attempt: 1, Targets: list}))
	for c.passMax(t, term, 0).More() {
	}
}

// TestRegisterManyTargets: lists of 10,000 targets are read in slices, and so is a group that
// shrinks to a few of them.
func TestRegisterManyTargets(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		const many = 10000
		c.job(t, "j", nil)
		term := c.term(t)
		c.resolveMany(t, term, "j", 1, many)
		began := time.Now()
		require.LessOrEqual(t, c.registerTargets(t), 4, "the steps, two slices, and an empty one")
		t.Logf("new: %v", time.Since(began))
		require.Equal(t, many, get[int](t, c, `SELECT COUNT(*) FROM jobs.targets WHERE is_gone = 0`))
		require.Equal(t, many, get[int](t, c, `SELECT COUNT(*) FROM jobs.target_group_targets WHERE is_gone = 0`))

		c.resolveMany(t, term, "j", 1, many)
		began = time.Now()
		require.LessOrEqual(t, c.registerTargets(t), 4)
		t.Logf("known: %v", time.Since(began))

		c.resolveMany(t, term, "j", many-9, many+1)
		began = time.Now()
		require.LessOrEqual(t, c.registerTargets(t), 5)
		t.Logf("gone: %v", time.Since(began))
		require.Equal(t, many-10, get[int](t, c, `SELECT COUNT(*) FROM jobs.targets WHERE is_gone = 1`))
		require.Equal(t, 11, get[int](t, c, `SELECT COUNT(*) FROM jobs.target_group_targets WHERE is_gone = 0`))
	})
}

// TestTagsOfUnknownTargets: T-SQL computes the ids of databases as agents do, whatever the letters
// of ASCII in their names.
func TestTagsOfUnknownTargets(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		r := rand.New(rand.NewPCG(1, 2))
		var list []controldb.TargetTags
		want := map[string]string{}
		for i := range 300 {
			name := []byte(fmt.Sprint("d", i))
			for range r.IntN(20) {
				if b := byte('!' + r.IntN('~'-'!')); b != '*' && b != '?' {
					name = append(name, b)
				}
			}
			server := []string{"s", "tcp:Host.example.com,1433", "TCP:h,1434", `h\Instance`}[r.IntN(4)]
			list = append(list, controldb.TargetTags{Server: server, Database: string(name), Tags: map[string]*string{"n": new(fmt.Sprint(i))}})
			want[fmt.Sprint(i)] = targets.TargetID(server, string(name)).String()
		}
		changed, err := c.SetTargetTags(t.Context(), list, false)
		require.NoError(t, err)
		require.Equal(t, len(list), changed)
		for _, row := range c.rows(t, `SELECT tag_value, LOWER(CAST(target_id AS NVARCHAR(36))) FROM jobs.target_tags`) {
			n, id, _ := strings.Cut(row, "|")
			require.Equal(t, want[n], id)
			delete(want, n)
		}
		require.Empty(t, want)
	})
}
