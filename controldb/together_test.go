package controldb_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
)

// Calls that are made together are all made, or none of them; the audit log names their caller,
// also if they need several batches.
func TestTogether(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		id := uuid.New()
		ctx := controldb.WithCaller(t.Context(), controldb.Caller{Door: controldb.DoorCLI, CorrelationID: id})
		// Each call has six arguments: three batches.
		add := func(n int, last string) error {
			return c.Together(ctx, "add schedules", func(tx *controldb.Store) error {
				for i := range n {
					_, err := tx.AddSchedule(ctx, controldb.ScheduleSpec{JobName: "j", Name: fmt.Sprintf("s%03d", i), Kind: "cron5", Spec: "0 2 * * *",
						TimeZone: ptr("UTC"), Enabled: ptr(false)})
					require.NoError(t, err)
				}
				_, err := tx.AddSchedule(ctx, controldb.ScheduleSpec{JobName: last, Name: "last", Kind: "cron5", Spec: "0 2 * * *"})
				require.NoError(t, err)
				_, err = tx.Jobs(ctx, "")
				require.ErrorContains(t, err, "cannot be made together", "a store that only collects calls reads nothing")
				return nil
			})
		}
		require.ErrorIs(t, add(400, "missing"), controldb.ErrJobNotFound)
		list, err := c.Schedules(t.Context(), controldb.ScheduleFilter{JobName: "j", NamedOnly: true})
		require.NoError(t, err)
		require.Empty(t, list, "the last call failed, so none was made")
		require.NoError(t, add(400, "j"))
		list, err = c.Schedules(t.Context(), controldb.ScheduleFilter{JobName: "j", NamedOnly: true})
		require.NoError(t, err)
		require.Len(t, list, 401)
		entries, err := c.AuditLog(t.Context(), controldb.AuditFilter{Limit: 401})
		require.NoError(t, err)
		require.Len(t, entries, 401)
		for _, e := range entries {
			require.Equal(t, id, e.CorrelationID)
			require.Equal(t, controldb.DoorCLI, e.Door)
		}
	})
}

// A caller with a role makes calls as the user of the role.
func TestTogetherAsRole(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		for role, allowed := range map[string]bool{"jobs_author": true, "jobs_reader": false} {
			ctx := controldb.WithCaller(t.Context(), controldb.Caller{Role: role, Name: "ann", Door: controldb.DoorREST, CorrelationID: uuid.New()})
			err := c.Together(ctx, "change a job", func(tx *controldb.Store) error {
				if err := tx.UpdateJob(ctx, controldb.JobUpdate{Name: "j", Description: ptr(role)}); err != nil {
					return err
				}
				return tx.UpdateJob(ctx, controldb.JobUpdate{Name: "j", NewName: ptr("k")})
			})
			require.Equal(t, allowed, err == nil, "%s: %v", role, err)
		}
		jobs, err := c.Jobs(t.Context(), "k")
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		require.Equal(t, "jobs_author", jobs[0].Description)
	})
}
