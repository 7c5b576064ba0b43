package controldb_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/tsqld"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// Calls that are made together are all made, or none of them; the audit log names their caller,
// also if they need several batches.
func TestTogether(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		id := uuid.New()
		ctx := caller.With(t.Context(), caller.Caller{Door: caller.DoorCLI, CorrelationID: id})
		// Each call has six arguments: three batches.
		add := func(n int, last string) error {
			return c.Together(ctx, "add schedules", func(tx *controldb.Store) error {
				for i := range n {
					_, err := timetable.On(tx).Add(ctx, timetable.Spec{JobName: "j", Name: fmt.Sprintf("s%03d", i), Kind: new("cron5"), Spec: new("0 2 * * *"),
						TimeZone: ptr("UTC"), Enabled: ptr(false)})
					require.NoError(t, err)
				}
				_, err := timetable.On(tx).Add(ctx, timetable.Spec{JobName: last, Name: "last", Kind: new("cron5"), Spec: new("0 2 * * *")})
				require.NoError(t, err)
				_, err = catalog.On(tx).Jobs(ctx, "")
				require.ErrorContains(t, err, "cannot be made together", "a store that only collects calls reads nothing")
				return nil
			})
		}
		require.ErrorIs(t, add(400, "missing"), dberror.ErrJobNotFound)
		list, err := timetable.On(c.Store).List(t.Context(), timetable.Filter{JobName: "j", NamedOnly: true})
		require.NoError(t, err)
		require.Empty(t, list, "the last call failed, so none was made")
		require.NoError(t, add(400, "j"))
		list, err = timetable.On(c.Store).List(t.Context(), timetable.Filter{JobName: "j", NamedOnly: true})
		require.NoError(t, err)
		require.Len(t, list, 401)
		entries, err := auditlog.On(c.Store).Read(t.Context(), auditlog.Filter{Limit: 401})
		require.NoError(t, err)
		require.Len(t, entries, 401)
		for _, e := range entries {
			require.Equal(t, id, e.CorrelationID)
			require.Equal(t, caller.DoorCLI, e.Door)
		}
	})
}

// A rehearsal refuses what the procedures refuse, for the caller, and changes nothing. Recorded
// calls are not made.
func TestRehearse(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		rename := func(from string) func(*controldb.Store) error {
			return func(tx *controldb.Store) error {
				return catalog.On(tx).UpdateJob(t.Context(), model.JobSpec{Name: from, NewName: ptr("k")})
			}
		}
		author := caller.With(t.Context(), caller.Caller{Role: "jobs_author", Name: "ann", Door: caller.DoorWeb, CorrelationID: uuid.New()})
		before, err := auditlog.On(c.Store).Read(t.Context(), auditlog.Filter{})
		require.NoError(t, err)
		require.NoError(t, c.Rehearse(author, "rename", rename("j")))
		require.ErrorIs(t, c.Rehearse(author, "rename", rename("missing")), dberror.ErrJobNotFound)
		reader := caller.With(t.Context(), caller.Caller{Role: "jobs_reader", Name: "bob", Door: caller.DoorWeb, CorrelationID: uuid.New()})
		require.Error(t, c.Rehearse(reader, "rename", rename("j")))
		calls, err := c.Record(func(tx *controldb.Store) error { return tx.Together(t.Context(), "rename", rename("j")) })
		require.NoError(t, err)
		require.Equal(t, []controldb.Call{{Procedure: "jobs.sp_update_job", Args: []controldb.Arg{{Name: "job_name", Value: "j"}, {Name: "new_name", Value: "k"}}}}, calls)
		_, err = catalog.On(c.Store).JobDetail(t.Context(), "j")
		require.NoError(t, err)
		after, err := auditlog.On(c.Store).Read(t.Context(), auditlog.Filter{})
		require.NoError(t, err)
		require.Equal(t, before, after)
	})
}

// A caller with a role makes calls as the user of the role.
func TestTogetherAsRole(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		for role, allowed := range map[string]bool{"jobs_author": true, "jobs_reader": false} {
			ctx := caller.With(t.Context(), caller.Caller{Role: role, Name: "ann", Door: caller.DoorREST, CorrelationID: uuid.New()})
			err := c.Together(ctx, "change a job", func(tx *controldb.Store) error {
				if err := catalog.On(tx).UpdateJob(ctx, model.JobSpec{Name: "j", Description: ptr(role)}); err != nil {
					return err
				}
				return catalog.On(tx).UpdateJob(ctx, model.JobSpec{Name: "j", NewName: ptr("k")})
			})
			require.Equal(t, allowed, err == nil, "%s: %v", role, err)
		}
		jobs, err := catalog.On(c.Store).Jobs(t.Context(), "k")
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		require.Equal(t, "jobs_author", jobs[0].Description)
	})
}

// breaking is a connector whose connections break when the server has made a commit.
type breaking struct{ driver.Connector }

func (b breaking) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := b.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return breakingConn{conn.(connection)}, nil
}

// connection is what package sql uses of a connection.
type connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

type breakingConn struct{ connection }

func (c breakingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.connection.BeginTx(ctx, opts)
	return breakingTx{tx}, err
}

type breakingTx struct{ driver.Tx }

func (t breakingTx) Commit() error { return errors.Join(io.ErrUnexpectedEOF, t.Tx.Commit()) }

// A connection that breaks during the commit leaves open whether the changes were made, and the
// error says so. Before that, none was made.
func TestTogetherUnknown(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		store, err := controldb.New(controldb.Config{Connector: breaking{c.env.Connector(t, c.name)}, ServerName: "s"})
		require.NoError(t, err)
		defer func() { require.NoError(t, store.Close()) }()
		add := func(names ...string) error {
			return store.Together(t.Context(), "add jobs", func(tx *controldb.Store) error {
				for _, name := range names {
					if _, err := catalog.On(tx).AddJob(t.Context(), model.JobSpec{Name: name}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		const unknown = "the server did not confirm the changes"
		err = add("a", "b")
		require.ErrorIs(t, err, dberror.ErrUnreachable)
		require.ErrorContains(t, err, unknown)
		jobs, err := catalog.On(c.Store).Jobs(t.Context(), "")
		require.NoError(t, err)
		require.Len(t, jobs, 2, "here, they were made")
		err = add("c", "a")
		require.ErrorIs(t, err, dberror.ErrJobExists)
		require.NotContains(t, err.Error(), unknown)
	})
}

// A server that ends the session while it commits, as when it gives its role up, has refused
// nothing.
func TestTogetherEndedByTheServer(t *testing.T) {
	var armed atomic.Bool
	env := testenv.Embedded(t, testenv.Options{Fault: func(p tsqld.Point) error {
		if p.Kind == tsqld.AfterCommitBeforeReply && p.Request == "TM_COMMIT_XACT" && armed.CompareAndSwap(true, false) {
			return mserr.New(596, 21, "Cannot continue the execution because the session is in the kill state.")
		}
		return nil
	}})
	store, _ := env.Control(t)
	armed.Store(true)
	err := store.Together(t.Context(), "add jobs", func(tx *controldb.Store) error {
		_, err := catalog.On(tx).AddJob(t.Context(), model.JobSpec{Name: "a"})
		return err
	})
	require.False(t, armed.Load(), "the session was ended")
	require.ErrorContains(t, err, "the server did not confirm the changes")
}
