package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// ErrLocked means that a deployment did not get its locks, because other sessions held theirs for
// too long. What it had done before stays, and the next call of Migrate goes on from there.
var ErrLocked = errors.New("other sessions hold locks that the deployment needs")

// migrationLockTimeout is how long a statement of a deployment waits for a lock, in milliseconds.
// While it waits, all later statements that use the same table queue behind it. So the time must be
// much shorter than the lease of an agent, whose renewal may be one of them.
const migrationLockTimeout = 5_000

// lockWaits are the times between the attempts of a step that did not get its locks. Meanwhile the
// statements that have queued are carried out.
var lockWaits = []time.Duration{
	time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second, 15 * time.Second,
	15 * time.Second, 15 * time.Second, 15 * time.Second,
}

// Migrate upgrades an installed schema to this program's version. It applies pending migrations,
// step by step: each step is a transaction, or one statement. Then it creates or replaces the
// procedures, views and roles that are missing or have another text, drops those that this program
// no longer has, and revokes what the roles have beyond their files.
//
// Agents may go on: no step makes a renewal of a lease wait for long (DESIGN.md, "Migrations"). A
// step that does not get its locks is repeated a few times, and then fails with [ErrLocked]. After
// any error, the next call goes on with the first step that has not ended.
//
// It returns [dberror.ErrNotInstalled] when there is no schema, [dberror.ErrSchemaVersion] when the
// schema is newer than this program, and an *[doctor.UnfitError] when the database or the login
// does not meet the requirements.
func (s Store) Migrate(ctx context.Context) error { return s.MigrateWith(ctx, MigrateOptions{}) }

// MigrateOptions are options of a migration.
type MigrateOptions struct {
	// Tell gets a line about each step and each wait; nil: nobody does.
	Tell func(line string)
	// AllowOlder allows to replace the procedures of a later version of this program. The schema
	// must have this program's version nevertheless.
	AllowOlder bool
	// Migrations replace those of this program, for tests; nil: they do not.
	Migrations []sqlfs.Migration
	// TablesOnly leaves the procedures as they are, as a deployment that is killed does, for tests.
	TablesOnly bool
}

// MigrateWith is [Store.Migrate] with options.
func (s Store) MigrateWith(ctx context.Context, o MigrateOptions) error {
	objects, migrations, err := installed.Embedded()
	if err != nil {
		return err
	}
	if o.Migrations != nil {
		migrations = o.Migrations
	}
	return s.conn.Retry(ctx, "migrate the control schema", func() (bool, error) {
		return true, s.migrate(ctx, objects, migrations, o)
	})
}

// migration is the state of one [Store.Migrate].
type migration struct {
	conn    *sqlx.Conn
	facts   doctor.Facts
	program string // version of this program
	MigrateOptions
}

// migrate is Migrate without retries, for given objects and migrations.
func (s Store) migrate(ctx context.Context, objects []sqlfs.Object, migrations []sqlfs.Migration, o MigrateOptions) error {
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	return s.withDeployLock(ctx, func(conn *sqlx.Conn) error {
		m := &migration{conn: conn, program: s.program, MigrateOptions: o}
		if err := m.applyPending(ctx, migrations); err != nil || o.TablesOnly {
			return err
		}
		return m.deployCode(ctx, objects)
	})
}

// applyPending checks the requirements and applies the migrations that the database lacks.
func (m *migration) applyPending(ctx context.Context, migrations []sqlfs.Migration) error {
	have, err := installed.ReadVersion(ctx, m.conn)
	if err != nil {
		return err
	}
	if have > len(migrations) {
		return &dberror.SchemaVersionError{Have: have, Want: len(migrations)}
	}
	if err := checkNotNewer(ctx, m.conn, m.program, m.AllowOlder); err != nil {
		return err
	}
	if err := m.boundWaits(ctx); err != nil {
		return err
	}
	err = m.waitForLocks(ctx, "the check of the requirements", nil, func() (err error) {
		m.facts, err = doctor.CheckDeployment(ctx, m.conn, false)
		return err
	})
	if err != nil {
		return err
	}
	progress, err := readProgress(ctx, m.conn)
	if err != nil {
		return err
	}
	for _, pending := range migrations[have:] {
		if err := m.apply(ctx, pending, progress); err != nil {
			return err
		}
	}
	return nil
}

// boundWaits makes statements of the connection give up waiting for a lock, and makes every error
// end the batch and the transaction. NOCOUNT may be on by the server's option "user options", and
// would hide the rows that a statement has changed, so that it would not be repeated
// (https://learn.microsoft.com/sql/database-engine/configure-windows/configure-the-user-options-server-configuration-option).
func (m *migration) boundWaits(ctx context.Context) error {
	_, err := m.conn.ExecContext(ctx, fmt.Sprintf("SET NOCOUNT OFF; SET XACT_ABORT ON; SET LOCK_TIMEOUT %d;", migrationLockTimeout))
	return dberror.Translate("bound the waits of the deployment", err)
}

// progress names the steps of a migration that have ended.
type progress struct{ version, steps int }

// propertyProgress is the extended property of the schema jobs_internal that holds the progress of
// a migration of several steps, as "version/steps". It is part of the transaction of the step.
const propertyProgress = "jobagent_migration"

// readProgress reads the progress of a migration that has not ended; the zero value if there is
// none.
func readProgress(ctx context.Context, conn *sqlx.Conn) (progress, error) {
	const op = "read the progress of the migration"
	text, err := schemaProperty(ctx, conn, propertyProgress)
	if err != nil || text == "" {
		return progress{}, dberror.Translate(op, err)
	}
	version, steps, _ := strings.Cut(text, "/")
	var p progress
	if p.version, err = strconv.Atoi(version); err == nil {
		p.steps, err = strconv.Atoi(steps)
	}
	if err != nil {
		return p, fmt.Errorf("%s: invalid extended property %s: want \"version/steps\", got %q", op, propertyProgress, text)
	}
	return p, nil
}

// recordStep records that a step has ended, and with the last step the migration.
func (m *migration) recordStep(ctx context.Context, tx *sqlx.Tx, of sqlfs.Migration, number, steps int) error {
	const op = "record the progress of the migration"
	const where = `@name = N'` + propertyProgress + `', @level0type = N'SCHEMA', @level0name = N'jobs_internal'`
	const exists = `EXISTS (SELECT 1 FROM sys.extended_properties AS p WHERE p.class = 3 AND p.major_id = SCHEMA_ID(N'jobs_internal') AND p.name = N'` +
		propertyProgress + `')`
	if number < steps {
		_, err := tx.ExecContext(ctx, `IF `+exists+`
    EXECUTE sys.sp_updateextendedproperty `+where+`, @value = @p1;
ELSE
    EXECUTE sys.sp_addextendedproperty `+where+`, @value = @p1;`, fmt.Sprintf("%d/%d", of.Version, number))
		return dberror.Translate(op, err)
	}
	done := []deployedMigration{{Version: of.Version, Name: of.Name, SHA256: of.SHA256}}
	if err := record(ctx, tx, deployment{migrations: done}); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `IF `+exists+`
    EXECUTE sys.sp_dropextendedproperty `+where+`;`)
	return dberror.Translate(op, err)
}

// apply applies the steps of a migration that have not ended yet.
func (m *migration) apply(ctx context.Context, pending sqlfs.Migration, done progress) error {
	steps, err := pending.Steps()
	if err != nil {
		return fmt.Errorf("read the embedded migrations: %w", err)
	}
	if done.version != pending.Version {
		done.steps = 0
	}
	for _, step := range steps[min(done.steps, len(steps)):] {
		what := fmt.Sprintf("migration %s, step %d of %d", pending.Name, step.Number, len(steps))
		m.Tell(what + about(step))
		if err := m.applyStep(ctx, pending, step, len(steps), what); err != nil {
			return err
		}
	}
	return nil
}

// about names the tables of a step.
func about(step sqlfs.Step) string {
	if tables := step.Tables(); len(tables) > 0 {
		return " (" + strings.Join(tables, ", ") + ")"
	}
	return ""
}

// applyStep applies one step and records it.
func (m *migration) applyStep(ctx context.Context, of sqlfs.Migration, step sqlfs.Step, steps int, what string) error {
	file := "migrations/" + of.Name + ".sql"
	if step.Single() {
		only := step.Statements[0]
		if only.Kind == sqlfs.CreateIndex && m.facts.Online() {
			only.Text = only.Online(m.facts.LowPriority())
		}
		for again := true; again; {
			err := m.waitForLocks(ctx, what, step.Tables(), func() error {
				changed, err := m.conn.ExecContext(ctx, only.Text)
				again = false
				if err == nil && only.Batches {
					n, err := changed.RowsAffected()
					again = n > 0
					return err
				}
				// An index that is there was created before its step could be recorded.
				if only.Kind == sqlfs.CreateIndex && dberror.NumberOf(err) == numIndexExists {
					return nil
				}
				return deployError(file, only.Line, err)
			})
			if err != nil {
				return err
			}
		}
		step.Statements = nil
	}
	return m.waitForLocks(ctx, what, step.Tables(), func() error {
		return inTransaction(ctx, m.conn, func(tx *sqlx.Tx) error {
			for _, st := range step.Statements {
				if _, err := tx.ExecContext(ctx, st.Text); err != nil {
					return deployError(file, st.Line, err)
				}
			}
			return m.recordStep(ctx, tx, of, step.Number, steps)
		})
	})
}

// numIndexExists is SQL Server's error when an index of this name exists already.
const numIndexExists = 1913

// waitForLocks repeats a step that did not get its locks or was a deadlock victim. It was rolled
// back, so it may be repeated.
func (m *migration) waitForLocks(ctx context.Context, what string, tables []string, do func() error) error {
	for n := 0; ; n++ {
		err := do()
		if number := dberror.NumberOf(err); number != dberror.NumLockTimeout && number != dberror.NumDeadlock {
			return err
		}
		if n == len(lockWaits) {
			return fmt.Errorf("%s: %w (%d attempts): %s; end these sessions or wait for them, then run \"jobagent db migrate\" again, which goes on here: %w",
				what, ErrLocked, n+1, m.holders(ctx, tables), err)
		}
		m.Tell(fmt.Sprintf("%s waits for locks of other sessions (%s), and tries again in %s", what, m.holders(ctx, tables), lockWaits[n]))
		timer := time.NewTimer(lockWaits[n])
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		if err := m.boundWaits(ctx); err != nil {
			return err
		}
	}
}

// holders describes the sessions that hold locks on tables of the schema, or on the database.
// Without tables these are all tables of the schema.
func (m *migration) holders(ctx context.Context, tables []string) string {
	// The ids of other resources than objects are BIGINT, which OBJECT_NAME does not take (8115).
	list, err := call.SelectRows[controldb.LockHolder](ctx, m.conn, `SELECT DISTINCT TOP (5) l.request_session_id AS session_id, s.login_name, s.program_name, s.host_name
FROM sys.dm_tran_locks AS l
LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = l.request_session_id
WHERE l.resource_database_id = DB_ID()
    AND l.request_status = N'GRANT'
    AND l.request_session_id <> @@SPID
    AND (
        l.resource_type = N'DATABASE' AND l.request_mode = N'X'
        OR l.resource_type = N'OBJECT'
            AND EXISTS (
                SELECT 1
                FROM sys.objects AS o
                INNER JOIN sys.schemas AS c ON c.schema_id = o.schema_id
                WHERE o.object_id = l.resource_associated_entity_id
                    AND c.name IN (N'jobs', N'jobs_internal', N'jobs_rest')
                    AND (@p1 = N'' OR CHARINDEX(CONCAT(N',', c.name, N'.', o.name, N','), @p1) > 0)
            )
    )
ORDER BY session_id;`, strings.TrimSuffix(","+strings.Join(tables, ",")+",", ",,"))
	if e, ok := dberror.ServerError(err); ok && dberror.IsDenied(e.Number) {
		return controldb.DescribeHolders(nil, false)
	}
	if err != nil {
		return "unknown: " + err.Error()
	}
	return controldb.DescribeHolders(list, true)
}

// deployCode makes the code objects those of this program, and records the deployment.
//
// What a renewal of a lease executes is replaced first, in a transaction of its own, so that a
// renewal never waits for the others. They are replaced in one transaction, because procedures of
// two releases must not call each other, and in one round trip, because each waits for all others.
func (m *migration) deployCode(ctx context.Context, objects []sqlfs.Object) error {
	deployed, err := installed.ReadObjects(ctx, m.conn)
	if err != nil {
		return err
	}
	differs, err := installed.CompareObjects(ctx, m.conn, objects, deployed)
	if err != nil {
		return err
	}
	lease, rest, err := codeChanges(objects, deployed, differs)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		what    string
		objects []sqlfs.Object
		last    bool
	}{{"the procedures of leases", lease, false}, {"the procedures, views and roles", rest, true}} {
		if len(part.objects) == 0 && !part.last {
			continue
		}
		if len(part.objects) > 0 {
			m.Tell(fmt.Sprintf("%s: %d to create or replace", part.what, len(part.objects)))
		}
		err := m.waitForLocks(ctx, part.what, nil, func() error {
			return deployObjects(ctx, m.conn, part.objects, func(tx *sqlx.Tx) error {
				if !part.last {
					return nil
				}
				if err := doctor.RestoreGrants(ctx, tx); err != nil {
					return err
				}
				return record(ctx, tx, deployment{objects: objects, program: m.program})
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxBatchArguments bounds the arguments of one batch; SQL Server accepts 2,100
// (https://learn.microsoft.com/sql/sql-server/maximum-capacity-specifications-for-sql-server).
const maxBatchArguments = 2000

// deployObjects runs the texts of objects, and then finish, in one transaction. The texts are few
// batches: each is an argument, and sp_executesql runs it as a batch of its own. If one fails for
// another reason than a lock, all are repeated one by one, so that the error names its file and
// line.
func deployObjects(ctx context.Context, conn *sqlx.Conn, objects []sqlfs.Object, finish func(*sqlx.Tx) error) error {
	err := inTransaction(ctx, conn, func(tx *sqlx.Tx) error {
		for chunk := range slices.Chunk(objects, maxBatchArguments) {
			var batch strings.Builder
			batch.WriteString("SET XACT_ABORT ON;\n")
			args := make([]any, 0, len(chunk))
			for i, o := range chunk {
				fmt.Fprintf(&batch, "EXECUTE sys.sp_executesql @p%d;\n", i+1)
				args = append(args, mssqldb.NVarCharMax(o.Text))
			}
			if _, err := tx.ExecContext(ctx, batch.String(), args...); err != nil {
				return deployError("procedures", 1, err)
			}
		}
		return finish(tx)
	})
	switch dberror.NumberOf(err) {
	case 0, dberror.NumLockTimeout, dberror.NumDeadlock:
		return err
	}
	return inTransaction(ctx, conn, func(tx *sqlx.Tx) error {
		for _, o := range objects {
			if _, err := tx.ExecContext(ctx, o.Text); err != nil {
				return deployError(o.File, 1, err)
			}
		}
		return finish(tx)
	})
}

// deployError is the error of a batch of a deployment. It names the file and the line; line is that
// of the batch in the file.
func deployError(file string, line int, err error) error {
	if err == nil {
		return nil
	}
	// The first error has the reason: the last one of a failed CREATE says only that it failed.
	var e mssqldb.Error
	if errors.As(err, &e) && len(e.All) > 1 {
		err = e.All[0]
	}
	where := file
	if e, ok := dberror.ServerError(err); ok && e.LineNo > 0 {
		where = fmt.Sprintf("%s:%d", file, line-1+int(e.LineNo))
	}
	return dberror.Translate("deploy "+where, err)
}
