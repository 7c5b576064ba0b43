package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
	"golang.org/x/mod/semver"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// deployLockTimeout is how long a deployment waits for another one, in milliseconds.
const deployLockTimeout = 60_000

// Install creates the control schema in one transaction. It then turns READ_COMMITTED_SNAPSHOT on,
// unless other sessions use the database. If the schema is installed already, Install changes
// nothing; it returns a *[dberror.SchemaVersionError] if that schema is not the one of this
// program. If the database or the login does not meet the requirements, Install changes nothing and
// returns an *[doctor.UnfitError].
func (s Store) Install(ctx context.Context) error {
	return s.conn.Retry(ctx, "install the control schema", func() (bool, error) { return true, s.install(ctx) })
}

// install is Install without retries.
func (s Store) install(ctx context.Context) error {
	objects, migrations, err := installed.Embedded()
	if err != nil {
		return err
	}
	triggers, err := sqlfs.ReadOnly()
	if err != nil {
		return fmt.Errorf("read the embedded schema: %w", err)
	}
	return s.withDeployLock(ctx, func(conn *sqlx.Conn) error {
		err := installed.CheckRecord(ctx, conn, objects, len(migrations))
		if !errors.Is(err, dberror.ErrNotInstalled) {
			return err
		}
		facts, err := doctor.CheckDeployment(ctx, conn, true)
		if err != nil {
			return err
		}
		err = deployObjects(ctx, conn, slices.Concat(objects, triggers), func(tx *sqlx.Tx) error {
			all := []deployedMigration{{Version: 0, Name: "install", SHA256: strings.Repeat("0", 64)}}
			for _, m := range migrations {
				all = append(all, deployedMigration{Version: m.Version, Name: m.Name, SHA256: m.SHA256})
			}
			return record(ctx, tx, deployment{objects: objects, migrations: all, program: s.program})
		})
		if err != nil || facts.RowVersions {
			return err
		}
		return turnOnRowVersions(ctx, conn)
	})
}

// OtherTables returns the names of tables in schemas that are not jobagent's: of all of them their
// number, and the first five names.
func (s Store) OtherTables(ctx context.Context) (total int, names []string, err error) {
	rows, err := call.SelectAll[struct {
		Name  string `db:"name"`
		Total int    `db:"total"`
	}](ctx, s.conn, "list other tables", `SELECT TOP (5) CONCAT(s.name, N'.', t.name) AS name, COUNT(*) OVER () AS total
FROM sys.tables AS t
INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE s.name NOT IN (N'jobs', N'jobs_internal', N'jobs_rest')
    AND t.is_ms_shipped = 0
ORDER BY s.name, t.name;`)
	for _, r := range rows {
		total, names = r.Total, append(names, r.Name)
	}
	return total, names, err
}

// checkNotNewer returns [dberror.ErrSchemaVersion] if a newer program has deployed its procedures,
// because a deployment over them would take them back: one with a later protocol of agents, or,
// unless allowOlder is set, one with a later version. Versions that are no semantic versions, such
// as those of builds without a tag, have no order.
//
// A missing view is no error: release 0 lacks it, and the deployment restores it.
func checkNotNewer(ctx context.Context, conn *sqlx.Conn, program string, allowOlder bool) error {
	newest, err := call.SelectOne[int](ctx, conn, `SELECT newest FROM jobs_internal.agent_protocols;`)
	switch {
	case err == nil && newest > controldb.AgentProtocol:
		return fmt.Errorf("%w: a newer jobagent has deployed its procedures: use the newer program", dberror.ErrSchemaVersion)
	case err != nil && dberror.NumberOf(err) != dberror.NumInvalidObject:
		return dberror.Translate("read the agent protocols of the control schema", err)
	case allowOlder:
		return nil
	}
	deployed, err := schemaProperty(ctx, conn, propertyProgram)
	if err != nil {
		return dberror.Translate("read which program has deployed the procedures", err)
	}
	if semver.IsValid(program) && semver.IsValid(deployed) && semver.Compare(program, deployed) < 0 {
		return fmt.Errorf("%w: jobagent %s has deployed its procedures, and this is %s: use the newer program, or go back to the procedures of this one by \"jobagent db migrate --allow-older\"",
			dberror.ErrSchemaVersion, deployed, program)
	}
	return nil
}

// propertyProgram is the extended property of the schema jobs_internal that holds the version of
// the program whose procedures are deployed; jobs_internal.record_deployment writes it.
const propertyProgram = "jobagent_program"

// schemaProperty returns the value of an extended property of the schema jobs_internal; empty if
// there is none. Such a property needs no table, so that it works on every earlier version.
func schemaProperty(ctx context.Context, conn *sqlx.Conn, name string) (string, error) {
	texts, err := call.SelectRows[string](ctx, conn, `SELECT CAST(p.value AS NVARCHAR(100))
FROM sys.extended_properties AS p
WHERE p.class = 3
    AND p.major_id = SCHEMA_ID(N'jobs_internal')
    AND p.name = @p1;`, name)
	if err != nil || len(texts) == 0 {
		return "", err
	}
	return texts[0], nil
}

// deployedMigration is a row of jobs_internal.schema_versions.
type deployedMigration struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	SHA256  string `json:"sha256"`
}

// deployment is what [record] records: code objects, migrations, and the version of the program
// that deploys. Where one is empty, the record of it stays as it is.
type deployment struct {
	objects    []sqlfs.Object
	migrations []deployedMigration
	program    string
}

// record writes the record of a deployment.
func record(ctx context.Context, tx *sqlx.Tx, d deployment) error {
	c := call.New("jobs_internal.record_deployment")
	if d.objects != nil {
		var list []installed.Object
		for _, o := range d.objects {
			if o.Kind.IsCode() {
				list = append(list, installed.Object{Name: o.Name, Kind: string(o.Kind), SHA256: o.SHA256})
			}
		}
		text, err := json.Marshal(list)
		if err != nil {
			return err
		}
		c.In("objects", string(text))
	}
	if d.migrations != nil {
		text, err := json.Marshal(d.migrations)
		if err != nil {
			return err
		}
		c.In("migrations", string(text))
	}
	if d.program != "" {
		c.In("program", d.program)
	}
	if _, err := tx.ExecContext(ctx, c.Proc, c.Args...); err != nil {
		return dberror.Translate("record the deployment", err)
	}
	return nil
}

// numNotMember is SQL Server's error when the caller is not a member of the principal of an
// application lock: "The database-principal '%.*ls' does not exist or user is not a member."
// (https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors-1000-to-1999).
const numNotMember = 1202

// withDeployLock runs f on a connection that holds the application lock of deployments, so that two
// deployments never overlap. The lock belongs to the session and is released on the same
// connection.
//
// Only members of db_owner may take the lock
// (https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-getapplock-transact-sql,
// @DbPrincipal). A deployment needs that role anyway, because its objects belong to dbo, and no
// other login can block deployments.
func (s Store) withDeployLock(ctx context.Context, f func(*sqlx.Conn) error) error {
	const op = "take the deployment lock"
	conn, err := call.DB(s.conn).Connx(ctx)
	if err != nil {
		return dberror.Translate(op, err)
	}
	defer conn.Close()
	var status int
	err = conn.GetContext(ctx, &status, `DECLARE @status INT;
EXECUTE @status = sp_getapplock @Resource = N'jobagent.deploy', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = @p1, @DbPrincipal = N'db_owner';
SELECT @status;`, deployLockTimeout)
	if server, ok := dberror.ServerError(err); ok && server.Number == numNotMember {
		finding, err := doctor.NotOwner(ctx, conn)
		if err != nil {
			return dberror.Translate(op, err)
		}
		return &doctor.UnfitError{Finding: finding}
	}
	if err != nil {
		return dberror.Translate(op, err)
	}
	if status < 0 {
		return fmt.Errorf("%s: another deployment holds it (status %d): try again when it has ended", op, status)
	}
	err = f(conn)
	_, releaseErr := conn.ExecContext(
		context.WithoutCancel(ctx),
		`EXECUTE sp_releaseapplock @Resource = N'jobagent.deploy', @LockOwner = N'Session', @DbPrincipal = N'db_owner';`,
	)
	if err == nil && releaseErr != nil {
		err = dberror.Translate("release the deployment lock", releaseErr)
	}
	return err
}

// inTransaction runs f in a transaction.
func inTransaction(ctx context.Context, conn *sqlx.Conn, f func(*sqlx.Tx) error) error {
	tx, err := conn.BeginTxx(ctx, nil)
	if err != nil {
		return dberror.Translate("begin a transaction", err)
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // f's error is more useful, and the server may have rolled back already
		return err
	}
	if err := tx.Commit(); err != nil {
		return dberror.Translate("commit the deployment", err)
	}
	return nil
}

// turnOnRowVersions turns READ_COMMITTED_SNAPSHOT on, unless other sessions use the database: with
// NO_WAIT the statement then fails at once
// (https://learn.microsoft.com/sql/t-sql/statements/alter-database-transact-sql-set-options). An
// error of the server is ignored, because Examine reports that the option is off.
func turnOnRowVersions(ctx context.Context, conn *sqlx.Conn) error {
	_, err := conn.ExecContext(ctx, `ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH NO_WAIT;`)
	if _, ok := dberror.ServerError(err); ok && ctx.Err() == nil {
		return nil
	}
	return dberror.Translate("turn READ_COMMITTED_SNAPSHOT on", err)
}
