package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/naming"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/targets"
)

// TestRolloutDoor: what a door reads of a roll-out, and that each change of a door reaches its
// procedure.
func TestRolloutDoor(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx, term := t.Context(), c.term(t)
		c.job(t, "j", once)
		_, err := rollouts.On(c.Store).Get(ctx, c.start(t, "j"))
		require.ErrorIs(t, err, rollouts.ErrNotFound, "a plain run")
		fails := func(database string) targets.Outcome {
			if database == "d03" {
				return targets.Failed
			}
			return targets.Succeeded
		}
		c.rollOut(t, term, numbered(6), fails)
		c.plan(t, members{"deadline_seconds": 3600},
			members{"name": "canary", "targets": "1"}, members{"name": "some", "targets": "4", "approval": "any", "bake_seconds": 600},
			members{"name": "last", "targets": "1"})
		id, err := executions.On(c.Store).Start(ctx, executions.StartRequest{Job: "j", Hold: true})
		require.NoError(t, err)
		c.rollOut(t, term, numbered(9), fails)

		r, err := rollouts.On(c.Store).Get(ctx, id)
		require.NoError(t, err)
		require.Equal(t, rollouts.Paused, r.State)
		require.Equal(t, []int{9, 3, 6, 3}, []int{r.Targets, r.LeftOut, r.Pending(), r.Waves})
		require.NotZero(t, r.DeadlineAt)
		usual, err := rollouts.On(c.Store).Usual(ctx, id)
		require.NoError(t, err)
		require.GreaterOrEqual(t, usual, time.Duration(0))
		failed, err := rollouts.On(c.Store).FailedBefore(ctx, id, 10)
		require.NoError(t, err)
		require.Len(t, failed, 1)
		require.Equal(t, "s/d03", failed[0].Name())
		require.Equal(t, "some", failed[0].WaveName)

		// Pages of targets: those that no wave has come first.
		var names []string
		var after *rollouts.TargetKey
		for {
			page, next, err := controldb.ReadPage(after, 4, func(p controldb.Page[rollouts.TargetKey]) ([]rollouts.Target, error) {
				return rollouts.On(c.Store).Targets(ctx, id, rollouts.TargetFilter{}, p)
			}, rollouts.Target.Key)
			require.NoError(t, err)
			for _, target := range page {
				names = append(names, target.Database)
			}
			if after = next; next == nil {
				break
			}
		}
		require.Len(t, names, 9)
		require.ElementsMatch(t, []string{"d06", "d07", "d08"}, names[:3])
		require.Equal(t, numbered(6), names[3:])
		two := 2
		some, err := rollouts.On(c.Store).Targets(ctx, id, rollouts.TargetFilter{Wave: &two, States: []string{"Pending"}}, controldb.Page[rollouts.TargetKey]{Top: 2})
		require.NoError(t, err)
		require.Len(t, some, 2)

		require.NoError(t, rollouts.On(c.Store).MoveTarget(ctx, id, targets.NewTarget("s", "d03", ""), "canary"))
		require.NoError(t, rollouts.On(c.Store).MoveTarget(ctx, id, targets.NewTarget("s", "d03", ""), ""))
		require.NoError(t, rollouts.On(c.Store).Resume(ctx, id))
		c.rollOut(t, term, nil, succeed)
		r, err = rollouts.On(c.Store).Get(ctx, id)
		require.NoError(t, err)
		require.Equal(t, rollouts.Waiting, r.State)
		require.True(t, r.NeedsPerson())
		require.Contains(t, r.NextEvent, "'some'")
		require.NoError(t, rollouts.On(c.Store).Reject(ctx, id, "not today"))
		r, err = rollouts.On(c.Store).Get(ctx, id)
		require.NoError(t, err)
		require.Contains(t, r.PauseReason, "not today")
		require.NoError(t, rollouts.On(c.Store).Resume(ctx, id))
		require.NoError(t, rollouts.On(c.Store).Approve(ctx, id, "some", "go"))
		c.rollOut(t, term, nil, succeed)
		waves, err := rollouts.On(c.Store).Waves(ctx, id)
		require.NoError(t, err)
		require.Equal(t, []rollouts.WaveState{rollouts.WavePassed, rollouts.WaveBaking, rollouts.WavePending},
			[]rollouts.WaveState{waves[0].State, waves[1].State, waves[2].State})
		require.Equal(t, "go", waves[1].ApprovalComment)
		require.NotEmpty(t, waves[0].Gate)
		require.NotZero(t, waves[0].Run)
		until := waves[1].BakeUntil
		require.NoError(t, rollouts.On(c.Store).ExtendBake(ctx, id, time.Minute))
		waves, err = rollouts.On(c.Store).Waves(ctx, id)
		require.NoError(t, err)
		require.Equal(t, time.Minute, waves[1].BakeUntil.Sub(until))
		before, err := rollouts.On(c.Store).Get(ctx, id)
		require.NoError(t, err)
		require.True(t, before.HasDeadline())
		require.NoError(t, rollouts.On(c.Store).ExtendDeadline(ctx, id, time.Hour))
		extended, err := rollouts.On(c.Store).Get(ctx, id)
		require.NoError(t, err)
		require.Equal(t, time.Hour, extended.DeadlineAt.Sub(before.DeadlineAt))
		require.NoError(t, rollouts.On(c.Store).Pause(ctx, id, "lunch"))
		require.NoError(t, rollouts.On(c.Store).Resume(ctx, id))
		require.Error(t, rollouts.On(c.Store).RetryWave(ctx, id), "no gate has failed")
		require.NoError(t, rollouts.On(c.Store).SkipWave(ctx, id, "last"))
		require.NoError(t, rollouts.On(c.Store).Abort(ctx, id, "enough"))
		c.rollOut(t, term, nil, succeed)
		r, err = rollouts.On(c.Store).Get(ctx, id)
		require.NoError(t, err)
		require.Equal(t, rollouts.Aborted, r.State)

		list, err := rollouts.On(c.Store).Rollouts(ctx, rollouts.Filter{JobName: "j", States: []rollouts.State{rollouts.Aborted}}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Len(t, list, 1)
		key := list[0].Key()
		list, err = rollouts.On(c.Store).Rollouts(ctx, rollouts.Filter{}, controldb.Page[executions.Key]{After: &key})
		require.NoError(t, err)
		require.Empty(t, list)
		list, err = rollouts.On(c.Store).Rollouts(ctx, rollouts.Filter{Active: true, UndoOf: id}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Empty(t, list)
		found, err := naming.On(c.Store).List(ctx, naming.Filter{Kind: naming.OfRollouts, Prefix: id.String()[:6]})
		require.NoError(t, err)
		require.Len(t, found, 1)
		plain, err := executions.On(c.Store).Start(ctx, executions.StartRequest{Job: "j", Plain: true})
		require.NoError(t, err)
		c.rollOut(t, term, numbered(2), succeed)
		_, err = rollouts.On(c.Store).Get(ctx, plain)
		require.ErrorIs(t, err, rollouts.ErrNotFound)
		_, err = rollouts.On(c.Store).Undo(ctx, rollouts.UndoRequest{Rollout: id})
		require.Error(t, err, "the plan has no compensating job")
		_, err = rollouts.On(c.Store).Get(ctx, uuid.New())
		require.ErrorIs(t, err, rollouts.ErrNotFound)
	})
}
