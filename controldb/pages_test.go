package controldb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// names returns a name of each row.
func names[T any](list []T, name func(T) string) []string {
	texts := make([]string, 0, len(list))
	for _, row := range list {
		texts = append(texts, name(row))
	}
	return texts
}

// TestPagesOfDefinitions: lists continue behind a key, and leave out system jobs.
func TestPagesOfDefinitions(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.exec(t, `EXECUTE jobs_internal.ensure_system_jobs @server_name = N's';
EXECUTE jobs.sp_add_target_group N'g';`)
		for _, name := range []string{"b", "a", "c"} {
			_, err := catalog.On(c.Store).SetJob(ctx, model.JobSpec{Name: name}, nil)
			require.NoError(t, err)
			_, err = targetgroups.On(c.Store).Set(ctx, name, []targets.Member{{Kind: "SqlServer", Server: name}, {Kind: "SqlServer", Server: "a"}}[:1], nil)
			require.NoError(t, err)
			for _, step := range []string{"z", "y", "x"} {
				_, err = catalog.On(c.Store).SetJobStep(ctx, model.StepSpec{JobName: name, StepName: ptr(step), Command: new("SELECT 1"), TargetGroup: new("g")}, nil)
				require.NoError(t, err)
			}
		}
		jobName := func(j catalog.JobDetail) string { return j.Name + " " + j.Origin }
		list, err := catalog.On(c.Store).JobDetails(ctx, controldb.Page[string]{Top: 2})
		require.NoError(t, err)
		require.Equal(t, []string{"a Elastic", "b Elastic"}, names(list, jobName))
		list, err = catalog.On(c.Store).JobDetails(ctx, controldb.Page[string]{After: ptr("B"), Top: 2})
		require.NoError(t, err)
		require.Equal(t, []string{"c Elastic"}, names(list, jobName))
		list, err = catalog.On(c.Store).JobDetails(ctx, controldb.Page[string]{Skip: 1})
		require.NoError(t, err)
		require.Equal(t, []string{"b Elastic", "c Elastic"}, names(list, jobName))
		system, err := catalog.On(c.Store).JobDetail(ctx, "jobagent$history_retention")
		require.NoError(t, err)
		require.True(t, system.System)
		require.Equal(t, "System", system.Origin)
		_, err = catalog.On(c.Store).JobDetail(ctx, "nope")
		require.ErrorIs(t, err, dberror.ErrJobNotFound)

		groups, err := targetgroups.On(c.Store).Details(ctx, controldb.Page[string]{After: ptr("a"), Top: 2}, 100)
		require.NoError(t, err)
		require.Equal(t, []string{"b [b]", "c [c]"}, names(groups, func(g targetgroups.Detail) string {
			return fmt.Sprint(g.Name, " ", names(g.Members, func(m targets.Member) string { return m.Server }))
		}))
		few, err := targetgroups.On(c.Store).Details(ctx, controldb.Page[string]{After: ptr("a"), Top: 2}, 1)
		require.NoError(t, err)
		require.Len(t, few, 2)
		require.Len(t, few[0].Members, 1)
		require.False(t, few[0].Unread)
		require.Empty(t, few[1].Members)
		require.True(t, few[1].Unread, "a second member is too many")
		one, err := targetgroups.On(c.Store).Details(ctx, controldb.Page[string]{After: ptr("a"), Top: 1}, 0)
		require.NoError(t, err)
		require.Len(t, one[0].Members, 1, "there is at least one group")
		group, err := targetgroups.On(c.Store).Get(ctx, "G")
		require.NoError(t, err)
		require.Empty(t, group.Members)
		require.Equal(t, "g", group.Name)
		_, err = targetgroups.On(c.Store).Get(ctx, "nope")
		require.ErrorIs(t, err, dberror.ErrGroupNotFound)

		versions, err := catalog.On(c.Store).JobVersions(ctx, "a", controldb.Page[int]{After: ptr(0), Top: 2})
		require.NoError(t, err)
		require.Equal(t, []int{1, 2}, versions)
		stepName := func(s catalog.JobStep) string { return s.StepName }
		steps, err := catalog.On(c.Store).PageOfJobSteps(ctx, "a", nil, controldb.Page[int]{After: ptr(1), Top: 5})
		require.NoError(t, err)
		require.Equal(t, []string{"y", "x"}, names(steps, stepName))
		steps, err = catalog.On(c.Store).PageOfJobSteps(ctx, "a", ptr(2), controldb.Page[int]{Top: 5, Skip: 1})
		require.NoError(t, err)
		require.Equal(t, []string{"y"}, names(steps, stepName))
		step, err := catalog.On(c.Store).JobStep(ctx, "a", ptr(2), "Y")
		require.NoError(t, err)
		require.Equal(t, "y", step.StepName)
		_, err = catalog.On(c.Store).JobStep(ctx, "a", nil, "nope")
		require.ErrorIs(t, err, dberror.ErrStepNotFound)
	})
}

// TestPagesOfRuns: the latest runs first, ties by id; filters of R-13.
func TestPagesOfRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.exec(t, `EXECUTE jobs_internal.ensure_system_jobs @server_name = N's';`)
		c.job(t, "j", nil, nil)
		c.job(t, "k", nil)
		term := c.term(t)
		first := c.start(t, "j")
		c.resolve(t, term, "a", "b")
		c.complete(t, term, targets.Succeeded, "", c.pass(t, term).Tasks...)
		c.resolve(t, term, "c")
		c.complete(t, term, targets.Succeeded, "", c.pass(t, term).Tasks...)
		c.pass(t, term)
		second, third, other := c.start(t, "j"), c.start(t, "j"), c.start(t, "k")
		// Two of them have the same time.
		c.exec(t, `UPDATE e SET e.create_time = '2030-01-01' FROM jobs_internal.job_executions AS e WHERE e.job_execution_id IN (@p1, @p2);`,
			second.String(), third.String())
		if second.String() > third.String() { // SQL Server orders GUIDs otherwise: see below
			second, third = third, second
		}

		ids := func(list []executions.Run, err error) (found []uuid.UUID) {
			require.NoError(t, err)
			for _, e := range list {
				found = append(found, e.ID)
			}
			return found
		}
		all := ids(executions.On(c.Store).List(ctx, executions.Query{JobName: "j"}, controldb.Page[executions.Key]{}))
		require.ElementsMatch(t, []uuid.UUID{second, third}, all[:2])
		require.Equal(t, first, all[2])
		every := ids(executions.On(c.Store).List(ctx, executions.Query{}, controldb.Page[executions.Key]{}))
		require.Len(t, every, 4)
		require.Contains(t, every, other)

		var paged []uuid.UUID
		for key := (*executions.Key)(nil); ; {
			page, err := executions.On(c.Store).List(ctx, executions.Query{JobName: "j"}, controldb.Page[executions.Key]{After: key, Top: 1})
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			paged = append(paged, page[0].ID)
			key = ptr(page[0].Key())
		}
		require.Equal(t, all, paged, "ties are neither left out nor given twice")
		require.Equal(t, all[1:], ids(executions.On(c.Store).List(ctx, executions.Query{JobName: "j"}, controldb.Page[executions.Key]{Skip: 1})))

		run, err := executions.On(c.Store).Of(ctx, "J", first)
		require.NoError(t, err)
		_, err = executions.On(c.Store).Of(ctx, "k", first)
		require.ErrorIs(t, err, dberror.ErrExecutionNotFound)
		for name, test := range map[string]struct {
			filter executions.Filter
			want   []uuid.UUID
		}{
			"created from":   {executions.Filter{CreatedFrom: run.CreateTime}, all},
			"created before": {executions.Filter{CreatedBefore: run.CreateTime}, nil},
			"later":          {executions.Filter{CreatedFrom: run.CreateTime.Add(time.Hour)}, all[:2]},
			"ended from":     {executions.Filter{EndedFrom: run.EndTime}, all[2:]},
			"ended before":   {executions.Filter{EndedBefore: run.EndTime}, nil},
			"ended":          {executions.Filter{EndedBefore: run.EndTime.Add(time.Hour)}, all[2:]},
			"active":         {executions.Filter{Active: ptr(true)}, all[:2]},
			"not active":     {executions.Filter{Active: ptr(false)}, all[2:]},
			"active, ended":  {executions.Filter{Active: ptr(true), EndedFrom: run.CreateTime}, nil},
		} {
			require.Equal(t, test.want, ids(executions.On(c.Store).List(ctx, executions.Query{JobName: "j", Filter: test.filter}, controldb.Page[executions.Key]{Top: 10})), name)
		}

		row := func(e executions.StepRun) string { return fmt.Sprint(*e.StepID, e.StepName, e.Database, e.Lifecycle) }
		steps, err := executions.On(c.Store).Steps(ctx, first, "", executions.Filter{}, controldb.Page[int]{Top: 10})
		require.NoError(t, err)
		require.Len(t, steps, 2)
		behind, err := executions.On(c.Store).Steps(ctx, first, "", executions.Filter{EndedFrom: run.CreateTime}, controldb.Page[int]{After: ptr(1), Top: 10})
		require.NoError(t, err)
		require.Equal(t, names(steps[1:], row), names(behind, row))
		named, err := executions.On(c.Store).Steps(ctx, first, steps[0].StepName, executions.Filter{}, controldb.Page[int]{Top: 10})
		require.NoError(t, err)
		require.Equal(t, names(steps[:1], row), names(named, row))

		list, err := executions.On(c.Store).TargetRuns(ctx, first, "", uuid.Nil, executions.Filter{}, controldb.Page[executions.StepRunKey]{Top: 10})
		require.NoError(t, err)
		require.Len(t, list, 3)
		var found []string
		for key := (*executions.StepRunKey)(nil); ; {
			page, err := executions.On(c.Store).TargetRuns(ctx, first, "", uuid.Nil, executions.Filter{}, controldb.Page[executions.StepRunKey]{After: key, Top: 1})
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			found = append(found, row(page[0]))
			key = &executions.StepRunKey{StepID: *page[0].StepID, Server: page[0].Server, Database: page[0].Database, TargetID: page[0].TargetID}
		}
		require.Equal(t, names(list, row), found)
		one, err := executions.On(c.Store).TargetRuns(ctx, first, list[1].StepName, list[1].TargetID, executions.Filter{Active: ptr(false)}, controldb.Page[executions.StepRunKey]{Top: 10})
		require.NoError(t, err)
		require.Equal(t, names(list[1:2], row), names(one, row))
	})
}
