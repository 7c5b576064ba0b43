package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// TestRolloutDoor: what a door reads of a roll-out, and that each change of a door reaches its
// procedure.
func TestRolloutDoor(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx, term := t.Context(), c.term(t)
		c.job(t, "j", once)
		_, err := c.Rollout(ctx, c.start(t, "j"))
		require.ErrorIs(t, err, controldb.ErrRolloutNotFound, "a plain run")
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
		id, err := c.Start(ctx, controldb.StartRequest{Job: "j", Hold: true})
		require.NoError(t, err)
		c.rollOut(t, term, numbered(9), fails)

		r, err := c.Rollout(ctx, id)
		require.NoError(t, err)
		require.Equal(t, controldb.RolloutPaused, r.State)
		require.Equal(t, []int{9, 3, 6, 3}, []int{r.Targets, r.LeftOut, r.Pending(), r.Waves})
		require.NotZero(t, r.DeadlineAt)
		usual, err := c.RolloutUsual(ctx, id)
		require.NoError(t, err)
		require.GreaterOrEqual(t, usual, time.Duration(0))
		failed, err := c.RolloutFailedBefore(ctx, id, 10)
		require.NoError(t, err)
		require.Len(t, failed, 1)
		require.Equal(t, "s/d03", failed[0].Name())
		require.Equal(t, "some", failed[0].WaveName)

		// Pages of targets: those that no wave has come first.
		var names []string
		var after *controldb.RolloutTargetKey
		for {
			page, next, err := controldb.ReadPage(after, 4, func(p controldb.Page[controldb.RolloutTargetKey]) ([]controldb.RolloutTarget, error) {
				return c.RolloutTargets(ctx, id, controldb.RolloutTargetFilter{}, p)
			}, controldb.RolloutTarget.Key)
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
		some, err := c.RolloutTargets(ctx, id, controldb.RolloutTargetFilter{Wave: &two, States: []string{"Pending"}}, controldb.Page[controldb.RolloutTargetKey]{Top: 2})
		require.NoError(t, err)
		require.Len(t, some, 2)

		require.NoError(t, c.MoveRolloutTarget(ctx, id, targets.NewTarget("s", "d03", ""), "canary"))
		require.NoError(t, c.MoveRolloutTarget(ctx, id, targets.NewTarget("s", "d03", ""), ""))
		require.NoError(t, c.ResumeRollout(ctx, id))
		c.rollOut(t, term, nil, succeed)
		r, err = c.Rollout(ctx, id)
		require.NoError(t, err)
		require.Equal(t, controldb.RolloutWaiting, r.State)
		require.True(t, r.NeedsPerson())
		require.Contains(t, r.NextEvent, "'some'")
		require.NoError(t, c.RejectRollout(ctx, id, "not today"))
		r, err = c.Rollout(ctx, id)
		require.NoError(t, err)
		require.Contains(t, r.PauseReason, "not today")
		require.NoError(t, c.ResumeRollout(ctx, id))
		require.NoError(t, c.ApproveRollout(ctx, id, "some", "go"))
		c.rollOut(t, term, nil, succeed)
		waves, err := c.RolloutWaves(ctx, id)
		require.NoError(t, err)
		require.Equal(t, []controldb.WaveState{controldb.WavePassed, controldb.WaveBaking, controldb.WavePending},
			[]controldb.WaveState{waves[0].State, waves[1].State, waves[2].State})
		require.Equal(t, "go", waves[1].ApprovalComment)
		require.NotEmpty(t, waves[0].Gate)
		require.NotZero(t, waves[0].Run)
		until := waves[1].BakeUntil
		require.NoError(t, c.ExtendRolloutBake(ctx, id, time.Minute))
		waves, err = c.RolloutWaves(ctx, id)
		require.NoError(t, err)
		require.Equal(t, time.Minute, waves[1].BakeUntil.Sub(until))
		before, err := c.Rollout(ctx, id)
		require.NoError(t, err)
		require.True(t, before.HasDeadline())
		require.NoError(t, c.ExtendRolloutDeadline(ctx, id, time.Hour))
		extended, err := c.Rollout(ctx, id)
		require.NoError(t, err)
		require.Equal(t, time.Hour, extended.DeadlineAt.Sub(before.DeadlineAt))
		require.NoError(t, c.PauseRollout(ctx, id, "lunch"))
		require.NoError(t, c.ResumeRollout(ctx, id))
		require.Error(t, c.RetryRolloutWave(ctx, id), "no gate has failed")
		require.NoError(t, c.SkipRolloutWave(ctx, id, "last"))
		require.NoError(t, c.AbortRollout(ctx, id, "enough"))
		c.rollOut(t, term, nil, succeed)
		r, err = c.Rollout(ctx, id)
		require.NoError(t, err)
		require.Equal(t, controldb.RolloutAborted, r.State)

		list, err := c.Rollouts(ctx, controldb.RolloutFilter{JobName: "j", States: []controldb.RolloutState{controldb.RolloutAborted}}, controldb.Page[controldb.RunKey]{})
		require.NoError(t, err)
		require.Len(t, list, 1)
		key := list[0].Key()
		list, err = c.Rollouts(ctx, controldb.RolloutFilter{}, controldb.Page[controldb.RunKey]{After: &key})
		require.NoError(t, err)
		require.Empty(t, list)
		list, err = c.Rollouts(ctx, controldb.RolloutFilter{Active: true, UndoOf: id}, controldb.Page[controldb.RunKey]{})
		require.NoError(t, err)
		require.Empty(t, list)
		found, err := c.Names(ctx, controldb.NameFilter{Kind: controldb.NamesOfRollouts, Prefix: id.String()[:6]})
		require.NoError(t, err)
		require.Len(t, found, 1)
		plain, err := c.Start(ctx, controldb.StartRequest{Job: "j", Plain: true})
		require.NoError(t, err)
		c.rollOut(t, term, numbered(2), succeed)
		_, err = c.Rollout(ctx, plain)
		require.ErrorIs(t, err, controldb.ErrRolloutNotFound)
		_, err = c.UndoRollout(ctx, controldb.UndoRequest{Rollout: id})
		require.Error(t, err, "the plan has no compensating job")
		_, err = c.Rollout(ctx, uuid.New())
		require.ErrorIs(t, err, controldb.ErrRolloutNotFound)
	})
}
