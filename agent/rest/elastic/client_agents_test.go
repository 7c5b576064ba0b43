package elastic_test

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/sql/armsql/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/elastic"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/testenv/front"
)

// TestLongRunningOperationsOfAgents follows operations on a job agent that take longer than the
// front waits (202): a change that another session delays, and a deletion that waits for a run.
func TestLongRunningOperationsOfAgents(t *testing.T) {
	t.Parallel()
	f := front.Start(t, func(_ testing.TB, f *front.Front) []*rest.Mount {
		return []*rest.Mount{{ARM: true, Surface: elastic.New(elastic.Config{
			Directory: f.Directory, OperationPollAfter: time.Millisecond,
		})}}
	})
	f.DefineJob(t)
	ctx := t.Context()
	clients, err := armsql.NewClientFactory(front.Subscription, credential(f), options(f))
	require.NoError(t, err)
	c := clients.NewJobAgentsClient()
	body := armsql.JobAgent{
		Location: ptr(front.Location), SKU: &armsql.SKU{Name: ptr("JA100"), Capacity: ptr[int32](100)},
		Properties: &armsql.JobAgentProperties{DatabaseID: ptr(front.Servers + "/databases/" + front.Database)},
	}
	p, err := c.BeginCreateOrUpdate(ctx, rg, srv, agent, body, nil)
	require.NoError(t, err)
	require.Equal(t, armsql.JobAgentStateReady, *done(t, p, err).Properties.State)

	// For a while nobody carries out the operation.
	db := f.DB(t, f.Control)
	var text string
	require.NoError(t, db.QueryRowContext(ctx, "SELECT OBJECT_DEFINITION(OBJECT_ID(N'jobs_internal.advance_job_agent'));").Scan(&text))
	_, err = db.ExecContext(ctx, `CREATE OR ALTER PROCEDURE jobs_internal.advance_job_agent
    @holder UNIQUEIDENTIFIER = NULL, @lease_seconds INT = 30, @now DATETIME2(7) = NULL
AS RETURN 0;`)
	require.NoError(t, err)
	body.SKU = &armsql.SKU{Name: ptr("JA200")}
	p, err = c.BeginCreateOrUpdate(ctx, rg, srv, agent, body, nil)
	require.NoError(t, err)
	require.False(t, p.Done())
	one, err := c.Get(ctx, rg, srv, agent, nil)
	require.NoError(t, err)
	require.Equal(t, armsql.JobAgentStateUpdating, *one.Properties.State)
	_, err = c.BeginDelete(ctx, rg, srv, agent, nil)
	fails(t, err, 409, "OperationInterrupted")
	_, err = db.ExecContext(ctx, "DROP PROCEDURE jobs_internal.advance_job_agent;")
	require.NoError(t, err)
	_, err = db.ExecContext(ctx, text)
	require.NoError(t, err)
	updated := done(t, p, carryOut(t, f))
	require.Equal(t, int32(200), *updated.SKU.Capacity)

	// An agent that does not answer holds a task of a run.
	term := f.HoldTask(t, "j1")
	gone, err := c.BeginDelete(ctx, rg, srv, agent, nil)
	require.NoError(t, err)
	require.False(t, gone.Done())
	require.NoError(t, f.Store.EndTerm(ctx, term))
	done(t, gone, carryOut(t, f))
	_, err = c.Get(ctx, rg, srv, agent, nil)
	fails(t, err, 404, "ResourceNotFound")
}

// carryOut carries out the operation on the job agent, as the front's reconciler does.
func carryOut(t *testing.T, f *front.Front) error {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		if err := account.On(f.Store).Advance(t.Context(), uuid.New(), time.Second); err != nil {
			return err
		}
		a, err := account.On(f.Store).Read(t.Context())
		if err != nil || a.Operation == uuid.Nil {
			return err
		}
		require.True(t, time.Now().Before(deadline), a.State)
		<-time.After(50 * time.Millisecond) // the lease of the front ends in real time
	}
}
