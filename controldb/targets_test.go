package controldb_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
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
	testenv.Long(t)
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
		list, err := targetgroups.On(c.Store).Targets(t.Context(), "g")
		require.NoError(t, err)
		require.Len(t, list, many+1)
		had := 0
		for _, l := range list {
			require.Equal(t, targets.TargetID(l.Server, l.Database), l.ID)
			require.Equal(t, list[0].Resolved, l.Resolved)
			if !l.IsGone {
				had++
			}
		}
		require.Equal(t, 11, had)
		require.False(t, list[0].Resolved.IsZero())
	})
}

// TestTagsOfUnknownTargets: T-SQL computes the ids of databases as agents do, whatever the letters
// of ASCII in their names.
func TestTagsOfUnknownTargets(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		r := rand.New(rand.NewPCG(1, 2))
		var list []targetgroups.TargetTags
		want := map[string]string{}
		for i := range 300 {
			name := []byte(fmt.Sprint("d", i))
			for range r.IntN(20) {
				if b := byte('!' + r.IntN('~'-'!')); b != '*' && b != '?' {
					name = append(name, b)
				}
			}
			server := []string{"s", "tcp:Host.example.com,1433", "TCP:h,1434", `h\Instance`}[r.IntN(4)]
			list = append(list, targetgroups.TargetTags{Server: server, Database: string(name), Tags: map[string]*string{"n": new(fmt.Sprint(i))}})
			want[fmt.Sprint(i)] = targets.TargetID(server, string(name)).String()
		}
		changed, err := targetgroups.On(c.Store).SetTags(t.Context(), list, false)
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

// TestTagFiltersMeanWhatTheyDoInTSQL: the databases that a filter finds are those that the server
// finds when the same text is in a WHERE, with the tags as columns.
func TestTagFiltersMeanWhatTheyDoInTSQL(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		r := rand.New(rand.NewPCG(3, 4))
		names := []string{"tier", "region", "owner"}
		values := []string{"gold", "free", "eu", "EU", "us", "100%", "it's", ""}
		var list []targetgroups.TargetTags
		for i := range 150 {
			tags := map[string]*string{}
			for _, name := range names {
				if r.IntN(4) > 0 {
					tags[name] = &values[r.IntN(len(values))]
				}
			}
			if len(tags) > 0 {
				list = append(list, targetgroups.TargetTags{Server: "s", Database: fmt.Sprintf("d%03d", i), Tags: tags})
			}
		}
		_, err := targetgroups.On(c.Store).SetTags(t.Context(), list, false)
		require.NoError(t, err)

		quoted := func() string { return "'" + strings.ReplaceAll(values[r.IntN(len(values))], "'", "''") + "'" }
		var filter func(depth int) string
		filter = func(depth int) string {
			name := names[r.IntN(len(names))]
			not := []string{"", "NOT "}[r.IntN(2)]
			switch n := r.IntN(10); {
			case n < 2 && depth > 0:
				return filter(depth-1) + " AND " + filter(depth-1)
			case n < 4 && depth > 0:
				return filter(depth-1) + " or " + filter(depth-1)
			case n < 6 && depth > 0:
				return not + "(" + filter(depth-1) + ")"
			case n < 7:
				return not + name + []string{" = ", "<>", " != "}[r.IntN(3)] + quoted()
			case n < 8:
				return name + " " + not + "IN (" + quoted() + ", N" + quoted() + ")"
			case n < 9:
				return not + name + " " + not + "like '" + []string{"%o%", "_u", "e[ux]", "100[%]"}[r.IntN(4)] + "'"
			}
			return not + "[" + name + "] IS " + not + "NULL"
		}
		matched, texts := 0, testenv.Sample(120, 400)
		for range texts {
			text := filter(5)
			if strings.Count(text, "'")/2 > 45 {
				continue
			}
			want := c.rows(t, `SELECT x.database_name FROM (
    SELECT t.database_name, MAX(CASE WHEN g.tag_name = N'tier' THEN g.tag_value END) AS tier,
        MAX(CASE WHEN g.tag_name = N'region' THEN g.tag_value END) AS region, MAX(CASE WHEN g.tag_name = N'owner' THEN g.tag_value END) AS owner
    FROM jobs.targets AS t INNER JOIN jobs.target_tags AS g ON g.target_id = t.target_id GROUP BY t.database_name
) AS x WHERE `+text+` ORDER BY x.database_name`)
			found, err := targetgroups.On(c.Store).KnownTargets(t.Context(), targetgroups.KnownTargetFilter{TagFilter: text, Top: 1000})
			require.NoError(t, err, text)
			got := []string{}
			for _, f := range found {
				got = append(got, f.Database)
			}
			require.Equal(t, want, got, text)
			matched += len(got)
		}
		require.Greater(t, matched, 12*texts)
	})
}

// TestTagMembers: agents get the databases that match. Excluded ones are those that are gone, too,
// so that no database runs because it was excluded before. 10,000 databases are given in one pass.
func TestTagMembers(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		gold, us := "gold", "us"
		var list []targetgroups.TargetTags
		for i := range 10000 {
			tags := map[string]*string{"tier": &gold}
			if i%10 == 0 {
				tags["region"] = &us
			}
			list = append(list, targetgroups.TargetTags{Server: "s", Database: fmt.Sprintf("d%05d", i), Tags: tags})
		}
		began := time.Now()
		for part := range slices.Chunk(list, targetgroups.MaxTargetTags) {
			changed, err := targetgroups.On(c.Store).SetTags(t.Context(), part, false)
			require.NoError(t, err)
			require.Equal(t, len(part), changed)
		}
		t.Logf("set tags of 10,000 databases: %v", time.Since(began))
		c.job(t, "j", nil)
		c.exec(t, `EXEC jobs.sp_set_target_group N'g', N'[{"target_type": "Tag", "tag_filter": "tier = ''gold''"}, {"target_type": "Tag", "membership_type": "Exclude", "tag_filter": "region = ''us''"}]';
UPDATE jobs_internal.targets SET first_seen_at = '2026-01-01', last_seen_at = '2026-01-01', gone_at = '2026-01-01' WHERE database_name LIKE N'd0000[01]'`)
		term := c.term(t)
		c.start(t, "j")
		began = time.Now()
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 1)
		members, err := c.Members(t.Context(), tasks[0].ID)
		require.NoError(t, err)
		t.Logf("pass, and 10,998 databases of members: %v", time.Since(began))
		count := map[targets.MembershipType]int{}
		for _, m := range members {
			require.NoError(t, m.Validate())
			count[m.Membership] += len(m.Stands.Databases)
		}
		require.Equal(t, map[targets.MembershipType]int{targets.Include: 9998, targets.Exclude: 1000}, count)

		stored, err := targetgroups.On(c.Store).Members(t.Context(), "g")
		require.NoError(t, err)
		tagged, err := targetgroups.On(c.Store).TaggedTargets(t.Context(), stored[0])
		require.NoError(t, err)
		require.Len(t, tagged, 9998)
		tagged, err = targetgroups.On(c.Store).TaggedTargets(t.Context(), stored[1])
		require.NoError(t, err)
		require.Len(t, tagged, 1000)
	})
}
