package controldb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// TestReadsOfDefinitions: what the pages about jobs, schedules and target groups read.
func TestReadsOfDefinitions(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.exec(t, `EXECUTE jobs_internal.ensure_system_jobs @server_name = N's';`)
		// The retries of a step are not waited for: a failure is final at once.
		once := func(s *model.StepSpec) { s.RetryAttempts = ptr(0) }
		c.job(t, "j", once)
		c.job(t, "k's [50_]", nil)
		term := c.term(t)
		first := c.start(t, "j")
		c.resolve(t, term, "a", "b")
		c.complete(t, term, targets.Succeeded, "", c.pass(t, term).Tasks...)
		c.pass(t, term)
		second := c.start(t, "j")
		c.resolve(t, term, "b", "c", "d")
		c.complete(t, term, targets.Failed, "no", c.pass(t, term).Tasks...)
		c.pass(t, term)

		jobName := func(j catalog.JobDetail) string { return j.Name }
		find := func(f catalog.JobFilter, after string) []string {
			list, err := catalog.On(c.Store).FindJobs(ctx, f, controldb.Page[string]{After: &after, Top: 5})
			require.NoError(t, err)
			return names(list, jobName)
		}
		require.Equal(t, []string{"j", "k's [50_]"}, find(catalog.JobFilter{}, ""))
		require.Equal(t, []string{"k's [50_]"}, find(catalog.JobFilter{}, "j"))
		require.Equal(t, []string{"k's [50_]"}, find(catalog.JobFilter{Search: "[50_"}, ""))
		require.Empty(t, find(catalog.JobFilter{Search: "%"}, "k's [50_]"))
		require.Equal(t, []string{"j"}, find(catalog.JobFilter{Failed: true}, ""))
		require.Empty(t, find(catalog.JobFilter{Scheduled: ptr(true)}, ""))
		require.Equal(t, []string{"j", "k's [50_]"}, find(catalog.JobFilter{Scheduled: ptr(false)}, ""))

		runs, err := executions.On(c.Store).Latest(ctx, []string{"j", "k's [50_]", "nope"}, 1)
		require.NoError(t, err)
		require.Equal(t, []string{"j " + second.String() + " Failed"}, names(runs, func(r executions.Run) string {
			return fmt.Sprint(r.JobName, " ", r.ID, " ", r.Lifecycle)
		}))
		runs, err = executions.On(c.Store).Latest(ctx, nil, 1)
		require.NoError(t, err)
		require.Empty(t, runs)

		versions, err := catalog.On(c.Store).LatestJobVersions(ctx, "j", controldb.Page[int]{Top: 1})
		require.NoError(t, err)
		require.Len(t, versions, 1)
		require.WithinDuration(t, time.Now(), versions[0].Created, time.Minute)
		rest, err := catalog.On(c.Store).LatestJobVersions(ctx, "j", controldb.Page[int]{After: &versions[0].Version})
		require.NoError(t, err)
		require.Equal(t, versions[0].Version-1, rest[0].Version)
		steps, err := catalog.On(c.Store).JobSteps(ctx, "j", new(versions[0].Version))
		require.NoError(t, err)
		require.Equal(t, "Retry", steps[0].OnUnknownOutcome)

		for i, name := range []string{"s1", "s2", "s3"} {
			_, err := timetable.On(c.Store).Add(ctx, timetable.Spec{JobName: "j", Name: name, Kind: new("cron5"), Spec: new(fmt.Sprintf("%d 2 * * *", i)), Enabled: ptr(true)})
			require.NoError(t, err)
		}
		c.validate(t, term, time.Date(2999, 1, 1, 2, 0, 0, 0, time.UTC))
		require.NoError(t, timetable.On(c.Store).Pause(ctx, "j", "s2", true, "a note"))
		require.Equal(t, []string{"j"}, find(catalog.JobFilter{Scheduled: ptr(true)}, ""))
		scheduleName := func(s timetable.Schedule) string { return s.JobName + "/" + s.Name }
		for name, test := range map[string]struct {
			search timetable.Search
			after  *timetable.Key
			want   []string
		}{
			"all":       {timetable.Search{}, nil, []string{"j/s1", "j/s2", "j/s3"}},
			"behind":    {timetable.Search{}, &timetable.Key{JobName: "j", Name: "s1"}, []string{"j/s2", "j/s3"}},
			"active":    {timetable.Search{State: timetable.Active}, nil, []string{"j/s1", "j/s3"}},
			"paused":    {timetable.Search{State: timetable.Paused}, nil, []string{"j/s2"}},
			"faulted":   {timetable.Search{State: timetable.Faulted}, nil, []string{}},
			"completed": {timetable.Search{State: timetable.Completed}, nil, []string{}},
			"disabled":  {timetable.Search{State: timetable.Disabled}, nil, []string{}},
			"search":    {timetable.Search{Search: "S3"}, nil, []string{"j/s3"}},
			"job":       {timetable.Search{JobName: "k's [50_]"}, nil, []string{}},
			"soon":      {timetable.Search{State: timetable.Due, DueBefore: time.Now()}, nil, []string{}},
		} {
			list, err := timetable.On(c.Store).Find(ctx, test.search, controldb.Page[timetable.Key]{After: test.after, Top: 9})
			require.NoError(t, err, name)
			require.Equal(t, test.want, names(list, scheduleName), name)
		}
		page := func(p controldb.Page[timetable.Key]) ([]timetable.Schedule, error) {
			return timetable.On(c.Store).Find(ctx, timetable.Search{State: timetable.Due}, p)
		}
		due, key, err := controldb.ReadPage(nil, 1, page, timetable.Schedule.Key)
		require.NoError(t, err)
		require.Len(t, due, 1)
		next, end, err := controldb.ReadPage(key, 1, page, timetable.Schedule.Key)
		require.NoError(t, err)
		require.Nil(t, end)
		require.Len(t, next, 1)
		require.NotEqual(t, due[0].Name, next[0].Name)
		require.Equal(t, "At 02:00 every day, Europe/Berlin", due[0].Describe().Text)

		sums, err := timetable.On(c.Store).OfJobs(ctx, []string{"j"})
		require.NoError(t, err)
		require.Equal(t, []timetable.JobSchedules{{JobName: "j", Active: 2, Paused: 1, Defined: 3, NextDue: due[0].NextDue}}, sums)
		from, to := time.Now().AddDate(0, -1, 0), time.Now().AddDate(0, 1, 0)
		fired, err := executions.On(c.Store).OfSchedule(ctx, due[0].ID, from, to, 10)
		require.NoError(t, err)
		require.Empty(t, fired)
		skips, err := timetable.On(c.Store).SkipsOf(ctx, due[0].ID, from, to, 10)
		require.NoError(t, err)
		require.Empty(t, skips)

		for _, read := range []struct{ jobs, want []string }{
			{nil, []string{"j", "k's [50_]"}}, {[]string{"k's [50_]", "nope"}, []string{"k's [50_]"}}, {[]string{}, []string{}},
		} {
			d, err := catalog.On(c.Store).Defined(ctx, read.jobs)
			require.NoError(t, err)
			require.Equal(t, read.want, names(d.Jobs, jobName), "without system jobs")
			require.Equal(t, read.want, names(d.Steps, func(s catalog.JobStep) string { return s.JobName }), "the current version only")
			all := []string{}
			for _, name := range read.want {
				all = append(all, name+"/")
				if name == "j" {
					all = append(all, "j/s1", "j/s2", "j/s3")
				}
			}
			defined, err := timetable.On(c.Store).Defined(ctx, read.jobs)
			require.NoError(t, err)
			require.Equal(t, all, names(defined, scheduleName))
		}
		n, err := executions.On(c.Store).Count(ctx, executions.HistoryFilter{JobName: "j"}, 1)
		require.NoError(t, err)
		require.Equal(t, 2, n, "one more than the limit, and no more are counted")
		n, err = executions.On(c.Store).Count(ctx, executions.HistoryFilter{JobName: "j", Active: true}, 1)
		require.NoError(t, err)
		require.Zero(t, n)
		n, err = executions.On(c.Store).Count(ctx, executions.HistoryFilter{JobID: due[0].JobID, Before: time.Now().Add(time.Hour)}, 5)
		require.NoError(t, err)
		require.Equal(t, 2, n)

		all, err := targetgroups.On(c.Store).Defined(ctx)
		require.NoError(t, err)
		require.NotEmpty(t, all)
		groups, err := targetgroups.On(c.Store).Find(ctx, "", controldb.Page[string]{Top: 10})
		require.NoError(t, err)
		require.NotEmpty(t, groups)
		uses, err := targetgroups.On(c.Store).Uses(ctx, []string{steps[0].TargetGroup}, 10)
		require.NoError(t, err)
		require.NotEmpty(t, uses)
		lists, err := targetgroups.On(c.Store).Resolutions(ctx, steps[0].TargetGroupID, 10)
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{second, first}, []uuid.UUID{lists[0].Run, lists[1].Run})
		count, err := targetgroups.On(c.Store).CountResolvedTargets(ctx, second, lists[0].StepID)
		require.NoError(t, err)
		require.Equal(t, 3, count)
		target := func(r targetgroups.ResolvedTarget) string { return r.Database }
		list, err := targetgroups.On(c.Store).ResolvedTargets(ctx, second, lists[0].StepID, "", controldb.Page[targetgroups.ResolvedTarget]{Top: 2})
		require.NoError(t, err)
		require.Equal(t, []string{"b", "c"}, names(list, target))
		list, err = targetgroups.On(c.Store).ResolvedTargets(ctx, second, lists[0].StepID, "", controldb.Page[targetgroups.ResolvedTarget]{After: &list[1], Top: 2})
		require.NoError(t, err)
		require.Equal(t, []string{"d"}, names(list, target))
		list, err = targetgroups.On(c.Store).ResolvedTargets(ctx, second, lists[0].StepID, "C", controldb.Page[targetgroups.ResolvedTarget]{})
		require.NoError(t, err)
		require.Equal(t, []string{"c"}, names(list, target))
		added, count, err := targetgroups.On(c.Store).MissingTargets(ctx, lists[0], lists[1], 1)
		require.NoError(t, err)
		require.Equal(t, []string{"c"}, names(added, target))
		require.Equal(t, 2, count)
		gone, count, err := targetgroups.On(c.Store).MissingTargets(ctx, lists[1], lists[0], 5)
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, names(gone, target))
		require.Equal(t, 1, count)
		failed, err := targetgroups.On(c.Store).FailedTargets(ctx, lists, 2)
		require.NoError(t, err)
		require.Equal(t, []string{"b1", "c1"}, names(failed, func(f targetgroups.FailedTarget) string { return fmt.Sprint(f.Database, f.Failures) }))
	})
}
