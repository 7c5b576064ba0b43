package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/jobs/wording"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// ErrInUse means that runs are active or agents are at work, so that the schema is not dropped.
var ErrInUse = errors.New("the control schema is in use")

// Uninstallation is what [Store.Uninstall] drops, or has dropped.
type Uninstallation struct {
	// Objects are the names of what is dropped, in order: triggers, views, procedures, tables,
	// roles, users and schemas.
	Objects []string
	// Members are the users that lose their membership in a role of jobagent. The users stay.
	Members []string
	// Kept are foreign objects in the schemas. They stay, and so do their schemas.
	Kept []string
	// Runs is the number of runs in the history that is lost, and ActiveRuns and Agents are the
	// active runs and the agents at work, with which nothing is dropped.
	Runs, ActiveRuns, Agents int
}

// dropText returns the statement that drops an object, if it is there.
func dropText(kind, name string) string {
	return fmt.Sprintf("DROP %s IF EXISTS %s;", kind, tsql.Name(strings.Split(name, ".")...))
}

// PlanUninstall returns what [Store.Uninstall] would drop. It only reads.
func (s Store) PlanUninstall(ctx context.Context) (Uninstallation, error) {
	conn, err := call.DB(s.conn).Connx(ctx)
	if err != nil {
		return Uninstallation{}, dberror.Translate("plan the uninstallation", err)
	}
	defer conn.Close()
	if _, err := installed.ReadVersion(ctx, conn); err != nil {
		return Uninstallation{}, err
	}
	u, _, err := planUninstall(ctx, conn)
	return u, err
}

// Uninstall drops everything that Install and Migrate have created, with all jobs, runs and their
// history, in one transaction. It drops nothing else: users of the database, and objects of others
// in the schemas, stay. An object of another schema that refers to a table makes it fail, and
// nothing is dropped. The options of the database, such as READ_COMMITTED_SNAPSHOT, stay as they
// are.
//
// It returns [ErrInUse] if a run is active or a term of an agent has not ended,
// [dberror.ErrNotInstalled], [ErrLocked], or an *[doctor.UnfitError] if the login is not a member
// of db_owner.
func (s Store) Uninstall(ctx context.Context) (Uninstallation, error) {
	var u Uninstallation
	err := s.withDeployLock(ctx, func(conn *sqlx.Conn) error {
		if _, err := installed.ReadVersion(ctx, conn); err != nil {
			return err
		}
		m := &migration{conn: conn, MigrateOptions: MigrateOptions{Tell: func(string) {}}}
		if err := m.boundWaits(ctx); err != nil {
			return err
		}
		return m.waitForLocks(ctx, "uninstall the control schema", nil, func() error {
			return inTransaction(ctx, conn, func(tx *sqlx.Tx) error {
				var statements []string
				var err error
				// Nothing can begin from here on: each start of a run and of a term writes to one
				// of them.
				if _, err := tx.ExecContext(ctx, `DECLARE @n INT;
SELECT TOP (1) @n = 1 FROM jobs_internal.terms WITH (TABLOCKX);
SELECT TOP (1) @n = 1 FROM jobs_internal.job_executions WITH (TABLOCKX);`); err != nil {
					return dberror.Translate("lock the control schema", err)
				}
				if u, statements, err = planUninstall(ctx, tx); err != nil {
					return err
				}
				if u.ActiveRuns > 0 || u.Agents > 0 {
					return fmt.Errorf("%w: %s active, %s at work: stop the runs and the agents first", ErrInUse, wording.Count(u.ActiveRuns, "run"), wording.Count(u.Agents, "agent"))
				}
				_, err = tx.ExecContext(ctx, strings.Join(statements, "\n"))
				return dberror.Translate("drop the control schema", err)
			})
		})
	})
	return u, err
}

// planUninstall returns what is dropped, and the statements.
func planUninstall(ctx context.Context, db call.Queryer) (u Uninstallation, statements []string, err error) {
	const op = "read what is to be dropped"
	counts, err := call.SelectOne[struct {
		Runs   int `db:"runs"`
		Active int `db:"active"`
		Agents int `db:"agents"`
	}](ctx, db, `SELECT
    (SELECT COUNT(*) FROM jobs_internal.job_executions) AS runs,
    (SELECT COUNT(*) FROM jobs_internal.job_executions AS e WHERE e.is_active = 1) AS active,
    (SELECT COUNT(*) FROM jobs_internal.terms AS t WHERE t.ended_at IS NULL AND t.expires_at > SYSUTCDATETIME()) AS agents;`)
	if err != nil {
		return u, nil, dberror.Translate(op, err)
	}
	u.Runs, u.ActiveRuns, u.Agents = counts.Runs, counts.Active, counts.Agents
	objects, _, err := installed.Embedded()
	if err != nil {
		return u, nil, err
	}
	triggers, err := sqlfs.ReadOnly()
	if err != nil {
		return u, nil, fmt.Errorf("read the embedded schema: %w", err)
	}
	present, err := call.SelectRows[doctor.SchemaObject](ctx, db, doctor.Text("objects"))
	if err != nil {
		return u, nil, dberror.Translate(op, err)
	}
	deployed, err := call.SelectRows[installed.Object](ctx, db, `SELECT name, kind, sha256 FROM jobs_internal.code_objects;`)
	if err != nil {
		return u, nil, dberror.Translate(op, err)
	}
	ours := map[string]bool{} // by lower-case name
	roles := map[string]bool{}
	for _, o := range slices.Concat(objects, triggers) {
		ours[strings.ToLower(o.Name)] = true
		if o.Kind == sqlfs.KindRole {
			roles[o.Name] = true
		}
		for _, name := range doctor.DeclaredTables(o) {
			ours[strings.ToLower(name)] = true
		}
	}
	for _, d := range deployed { // also what a release of another version has deployed
		ours[strings.ToLower(d.Name)] = true
		if d.Kind == string(sqlfs.KindRole) {
			roles[d.Name] = true
		}
	}
	add := func(kind, name string) {
		u.Objects = append(u.Objects, strings.ToLower(kind)+" "+name)
		statements = append(statements, dropText(kind, name))
	}

	// The triggers go with their views, and foreign keys between our tables go before the tables.
	kinds := map[string]string{"VIEW": "VIEW", "SQL_STORED_PROCEDURE": "PROCEDURE", "USER_TABLE": "TABLE", "SQL_TRIGGER": ""}
	foreign := map[string]bool{} // schemas that stay
	var tables []string
	for _, p := range present {
		name := p.Schema + "." + p.Name
		kind, known := kinds[p.Kind]
		switch {
		case p.Name == "":
		case !known || !ours[strings.ToLower(name)]:
			if p.Kind == "SQL_TRIGGER" { // it goes with its table or view
				u.Objects = append(u.Objects, "trigger "+name+", of somebody else")
				continue
			}
			foreign[p.Schema] = true
			u.Kept = append(u.Kept, name)
		case kind == "TABLE":
			tables = append(tables, name)
		case kind != "":
			add(kind, name)
		}
	}
	keys, err := call.SelectRows[struct {
		Table string `db:"table_name"`
		Name  string `db:"name"`
	}](ctx, db, `SELECT CONCAT(s.name, N'.', t.name) AS table_name, f.name
FROM sys.foreign_keys AS f
INNER JOIN sys.tables AS t ON t.object_id = f.parent_object_id
INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE s.name = N'jobs_internal'
ORDER BY 1, 2;`)
	if err != nil {
		return u, nil, dberror.Translate(op, err)
	}
	for _, k := range keys {
		if slices.Contains(tables, k.Table) {
			statements = append(statements, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s;", tsql.Name(strings.Split(k.Table, ".")...), tsql.Name(k.Name)))
		}
	}
	for _, t := range tables {
		add("TABLE", t)
	}
	revoke, err := u.addPrincipals(ctx, db, objects, roles, add)
	if err != nil {
		return u, nil, err
	}
	for _, o := range objects {
		if o.Kind == sqlfs.KindSchema && !foreign[o.Name] &&
			slices.ContainsFunc(present, func(p doctor.SchemaObject) bool { return p.Schema == o.Name && p.Name == "" }) {
			add("SCHEMA", o.Name)
		}
	}
	return u, append(revoke, statements...), nil
}

// addPrincipals adds the roles and the users without a login. It returns the statements that end
// the memberships, which must come before.
func (u *Uninstallation) addPrincipals(
	ctx context.Context, db call.Queryer, objects []sqlfs.Object, roles map[string]bool, add func(kind, name string),
) (revoke []string, err error) {
	members, err := call.SelectRows[struct {
		Role   string `db:"role_name"`
		Member string `db:"member_name"` // empty for a role without members
	}](ctx, db, `SELECT r.name AS role_name, COALESCE(u.name, N'') AS member_name
FROM sys.database_principals AS r
LEFT JOIN sys.database_role_members AS m ON m.role_principal_id = r.principal_id
LEFT JOIN sys.database_principals AS u ON u.principal_id = m.member_principal_id
WHERE r.type = 'R'
    AND r.name LIKE N'jobs[_]%'
ORDER BY r.name, u.name;`)
	if err != nil {
		return nil, dberror.Translate("read the members of the roles", err)
	}
	users := map[string]bool{}
	for _, o := range objects {
		if o.Kind == sqlfs.KindUser {
			users[o.Name] = true
		}
	}
	var drop []string
	for _, m := range members {
		if !roles[m.Role] {
			continue
		}
		if m.Member != "" {
			revoke = append(revoke, fmt.Sprintf("ALTER ROLE %s DROP MEMBER %s;", tsql.Name(m.Role), tsql.Name(m.Member)))
			if !users[m.Member] && !roles[m.Member] {
				u.Members = append(u.Members, m.Member+" of "+m.Role)
			}
		}
		if !slices.Contains(drop, m.Role) {
			drop = append(drop, m.Role)
		}
	}
	for _, role := range drop {
		add("ROLE", role)
	}
	for _, o := range objects {
		if o.Kind == sqlfs.KindUser {
			add("USER", o.Name)
		}
	}
	return revoke, nil
}
