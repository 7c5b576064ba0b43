package controldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
	"golang.org/x/mod/semver"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// deployLockTimeout is how long a deployment waits for another one, in milliseconds.
const deployLockTimeout = 60_000

// SchemaVersion returns the schema version of this program: the number of its latest migration, or
// 0 for the first release. It panics if the embedded migrations cannot be read, which means a
// broken build.
func SchemaVersion() int {
	migrations, err := sqlfs.Migrations()
	if err != nil {
		panic(fmt.Sprintf("read the embedded migrations: %v", err))
	}
	return len(migrations)
}

// Install creates the control schema in one transaction. It then turns READ_COMMITTED_SNAPSHOT on,
// unless other sessions use the database. If the schema is installed already, Install changes
// nothing; it returns a *[SchemaVersionError] if that schema is not the one of this program. If the
// database or the login does not meet the requirements, Install changes nothing and returns an
// *[UnfitError].
func (s *Store) Install(ctx context.Context) error {
	return s.conn.Retry(ctx, "install the control schema", func() (bool, error) { return true, s.install(ctx) })
}

// install is Install without retries.
func (s *Store) install(ctx context.Context) error {
	objects, migrations, err := embedded()
	if err != nil {
		return err
	}
	triggers, err := sqlfs.ReadOnly()
	if err != nil {
		return fmt.Errorf("read the embedded schema: %w", err)
	}
	return s.withDeployLock(ctx, func(conn *sqlx.Conn) error {
		err := checkVersion(ctx, conn, objects, len(migrations))
		if !errors.Is(err, dberror.ErrNotInstalled) {
			return err
		}
		facts, err := checkDeployment(ctx, conn, true)
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
func (s *Store) OtherTables(ctx context.Context) (total int, names []string, err error) {
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
	case err == nil && newest > AgentProtocol:
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

// Comparison is the result of [Store.Compare].
type Comparison struct {
	// Version is the installed version, and Want is this program's.
	Version, Want int
	// Missing are the objects of this program that the database lacks. Changed are those with
	// another text, or created with QUOTED_IDENTIFIER or ANSI_NULLS off. Extra are the objects in
	// the schemas jobs, jobs_internal and jobs_rest that this program does not have; they do no
	// harm.
	Missing, Changed, Extra []string
}

// Compare compares the installed schema with this program's, object by object. It only reads. A
// difference is no error; a missing schema is [dberror.ErrNotInstalled]. For a login that may not
// see definitions, Missing and Changed are derived from the record of the deployment alone.
func (s *Store) Compare(ctx context.Context) (Comparison, error) {
	objects, migrations, err := embedded()
	if err != nil {
		return Comparison{}, err
	}
	conn, err := call.DB(s.conn).Connx(ctx)
	if err != nil {
		return Comparison{}, dberror.Translate("verify the control schema", err)
	}
	defer conn.Close()
	version, err := installedVersion(ctx, conn)
	if err != nil {
		return Comparison{}, err
	}
	deployed, err := deployedObjects(ctx, conn)
	if err != nil {
		return Comparison{}, err
	}
	c, err := compareObjects(ctx, conn, objects, deployed)
	c.Version, c.Want = version, len(migrations)
	return c, err
}

// Verify returns nil when the installed schema is exactly this program's; extra objects are
// ignored. It returns [dberror.ErrNotInstalled], or a *[SchemaVersionError] that lists the
// differences. It only reads.
func (s *Store) Verify(ctx context.Context) error {
	c, err := s.Compare(ctx)
	if err != nil {
		return err
	}
	if c.Version != c.Want || len(c.Missing)+len(c.Changed) > 0 {
		return &SchemaVersionError{Have: c.Version, Want: c.Want, Missing: c.Missing, Changed: c.Changed}
	}
	return nil
}

// compareObjects finds missing, changed and extra objects. deployed is the record of the
// deployment, by lower-case name.
func compareObjects(
	ctx context.Context,
	conn *sqlx.Conn,
	objects []sqlfs.Object,
	deployed map[string]deployedObject,
) (Comparison, error) {
	const op = "verify the control schema"
	var c Comparison
	sees, err := seesDefinitions(ctx, conn)
	if err != nil {
		return c, dberror.Translate(op, err)
	}
	if !sees {
		for _, o := range objects {
			if d, ok := deployed[strings.ToLower(o.Name)]; o.Kind.IsCode() && !ok {
				c.Missing = append(c.Missing, o.Name)
			} else if o.Kind.IsCode() && d.SHA256 != o.SHA256 {
				c.Changed = append(c.Changed, o.Name)
			}
		}
		return c, nil
	}
	present, err := call.SelectRows[struct {
		Name       string `db:"name"`
		Definition string `db:"definition"`
		Options    bool   `db:"has_options"` // QUOTED_IDENTIFIER and ANSI_NULLS are on
	}](ctx, conn, `SELECT CONCAT(s.name, N'.', o.name) AS name, m.definition,
    CAST(CASE WHEN m.uses_quoted_identifier = 0 OR m.uses_ansi_nulls = 0 THEN 0 ELSE 1 END AS BIT) AS has_options
FROM sys.objects AS o
INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.sql_modules AS m ON m.object_id = o.object_id
WHERE s.name IN (N'jobs', N'jobs_internal', N'jobs_rest')
    AND o.type IN ('U', 'V', 'P', 'FN', 'IF', 'TF', 'TR')
UNION ALL
SELECT s.name, NULL, 1
FROM sys.schemas AS s
WHERE s.name IN (N'jobs', N'jobs_internal', N'jobs_rest')
UNION ALL
SELECT p.name, NULL, 1
FROM sys.database_principals AS p
WHERE p.type = 'R'
    AND p.name LIKE N'jobs[_]%';`)
	if err != nil {
		return c, dberror.Translate(op, err)
	}
	names := map[string]string{}
	definitions := map[string]string{}
	otherOptions := map[string]bool{}
	for _, p := range present {
		key := strings.ToLower(p.Name)
		names[key] = p.Name
		definitions[key] = p.Definition
		otherOptions[key] = !p.Options
	}
	for _, o := range objects {
		if o.Kind == sqlfs.KindUser {
			continue // the doctor examines users with their roles (subject callers)
		}
		key := strings.ToLower(o.Name)
		if _, ok := names[key]; !ok {
			c.Missing = append(c.Missing, o.Name)
			continue
		}
		delete(names, key)
		text := definitions[key]
		if o.Kind.IsCode() &&
			(deployed[key].SHA256 != o.SHA256 || otherOptions[key] || text != "" && moduleBody(text) != moduleBody(o.Text)) {
			c.Changed = append(c.Changed, o.Name)
		}
	}
	triggers, err := sqlfs.ReadOnly()
	if err != nil {
		return c, fmt.Errorf("read the embedded schema: %w", err)
	}
	for _, o := range triggers {
		key := strings.ToLower(o.Name)
		text := definitions[key]
		switch _, ok := names[key]; {
		case slices.Contains(c.Missing, sqlfs.ViewOf(o)): // it goes and comes with its view
		case !ok:
			c.Missing = append(c.Missing, o.Name)
		case otherOptions[key] || text != "" && moduleBody(text) != moduleBody(o.Text):
			c.Changed = append(c.Changed, o.Name)
		}
		delete(names, key)
	}
	for _, name := range names {
		c.Extra = append(c.Extra, name)
	}
	slices.Sort(c.Extra)
	return c, nil
}

// seesDefinitions reports whether the login sees the definitions of objects on which it has no
// permission. Without VIEW DEFINITION, such objects seem to be missing. NULL stands for the current
// database: HAS_PERMS_BY_NAME reads a name as an identifier of several parts, so that it does not
// find a name with a dot
// (https://learn.microsoft.com/sql/t-sql/functions/has-perms-by-name-transact-sql).
func seesDefinitions(ctx context.Context, conn *sqlx.Conn) (bool, error) {
	n, err := call.SelectOne[int](ctx, conn, `SELECT HAS_PERMS_BY_NAME(NULL, N'DATABASE', N'VIEW DEFINITION');`)
	return n == 1, err
}

// moduleHead matches the beginning of a module's definition, up to the keyword of its kind.
var moduleHead = regexp.MustCompile(`(?i)^(?:CREATE(?:\s+OR\s+ALTER)?|ALTER)\s+(PROCEDURE|VIEW|TRIGGER)\b`)

// moduleBody returns a module's text from the keyword PROCEDURE, VIEW or TRIGGER on. The text
// before it is not compared: SQL Server stores CREATE instead of CREATE OR ALTER and keeps the
// blanks around the removed words.
func moduleBody(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for rest := text; rest != ""; { // line by line, because the expression is slow on long comments
		line := strings.TrimLeft(rest, " \t")
		if hasPrefixFold(line, "CREATE") || hasPrefixFold(line, "ALTER") {
			if m := moduleHead.FindStringSubmatchIndex(line); m != nil {
				return strings.TrimSpace(line[m[2]:])
			}
		}
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return strings.TrimSpace(text)
}

// hasPrefixFold is strings.HasPrefix without case.
func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// CheckVersion returns nil when the record of the deployment matches this program. It returns
// [dberror.ErrNotInstalled], a *[SchemaVersionError], or [dberror.ErrVersionHidden] for a login
// that may not read the record. It is cheap: it reads two small tables.
func (s *Store) CheckVersion(ctx context.Context) error {
	objects, migrations, err := embedded()
	if err != nil {
		return err
	}
	ctx, cancel := s.conn.Bounded(ctx)
	defer cancel()
	conn, err := call.DB(s.conn).Connx(ctx)
	if err != nil {
		return dberror.TranslateCall(ctx, "check the control schema", err)
	}
	defer conn.Close()
	return checkVersion(ctx, conn, objects, len(migrations))
}

// CheckProtocol checks whether the installed schema, which may be the schema of another release,
// supports the protocol of this program's agents. Commands may use such a schema, as far as it has
// what they call. other holds the differences that CheckVersion finds, or nil. The errors are those
// of CheckVersion, and [dberror.ErrSchemaVersion] when the schema does not support the protocol.
func (s *Store) CheckProtocol(ctx context.Context) (other *SchemaVersionError, err error) {
	if err := s.CheckVersion(ctx); err == nil || !errors.As(err, &other) {
		return nil, err
	}
	var understood struct {
		Oldest int `db:"oldest"`
		Newest int `db:"newest"`
	}
	ctx, cancel := s.conn.Bounded(ctx)
	defer cancel()
	err = call.DB(s.conn).GetContext(ctx, &understood, `SELECT oldest, newest FROM jobs_internal.agent_protocols;`)
	switch {
	case err != nil:
		return nil, dberror.TranslateCall(ctx, "check the control schema", err)
	case AgentProtocol < understood.Oldest || AgentProtocol > understood.Newest:
		return nil, other
	}
	return other, nil
}

// CheckAgent checks whether an agent or a front of this program may work with the installed schema.
// It is CheckProtocol, and also returns [dberror.ErrSchemaVersion] when the schema lacks what this
// program calls. So the schema of a later release passes, and that of an earlier release does not.
func (s *Store) CheckAgent(ctx context.Context) (other *SchemaVersionError, err error) {
	other, err = s.CheckProtocol(ctx)
	switch {
	case err != nil || other == nil || other.Have > other.Want:
		return other, err
	case other.Have < other.Want:
		return nil, other
	}
	ctx, cancel := s.conn.Bounded(ctx)
	defer cancel()
	missing, err := s.missingCalls(ctx)
	switch {
	case err != nil:
		return nil, dberror.TranslateCall(ctx, "check the control schema", err)
	case len(missing) > 0:
		return nil, &SchemaVersionError{Have: other.Have, Want: other.Want, Missing: missing}
	}
	return other, nil
}

// missingCalls returns the procedures, parameters and views that roles use in this release and that
// the database lacks: releases with the same tables have the same version. Procedures that only
// other procedures call do not count, because a later release may have dropped them. Parameters are
// compared as far as the login sees them.
func (s *Store) missingCalls(ctx context.Context) (missing []string, err error) {
	objects, err := sqlfs.Objects()
	if err != nil {
		return nil, err
	}
	grants, err := sqlfs.Grants()
	if err != nil {
		return nil, err
	}
	called := map[string]bool{}
	for _, g := range grants {
		called[g.Name] = true
	}
	conn, err := call.DB(s.conn).Connx(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	deployed, err := deployedObjects(ctx, conn)
	if err != nil {
		return nil, err
	}
	rows, err := call.SelectRows[struct {
		Procedure string `db:"procedure_name"`
		Name      string `db:"name"`
	}](ctx, conn, `SELECT CONCAT(OBJECT_SCHEMA_NAME(p.object_id), N'.', OBJECT_NAME(p.object_id)) AS procedure_name, p.name
FROM sys.parameters AS p;`)
	if err != nil {
		return nil, err
	}
	parameters := map[string]map[string]bool{}
	for _, r := range rows {
		if parameters[r.Procedure] == nil {
			parameters[r.Procedure] = map[string]bool{}
		}
		parameters[r.Procedure][r.Name] = true
	}
	for _, o := range objects {
		if !o.Kind.IsCode() || !called[o.Name] {
			continue
		}
		if deployed[strings.ToLower(o.Name)].Name == "" {
			missing = append(missing, o.Name)
			continue
		}
		for _, p := range sqlfs.Describe(o).Parameters {
			if have := parameters[o.Name]; have != nil && !have[p.Name] {
				missing = append(missing, o.Name+" "+p.Name)
			}
		}
	}
	return missing, nil
}

func embedded() ([]sqlfs.Object, []sqlfs.Migration, error) {
	objects, err := sqlfs.Objects()
	if err != nil {
		return nil, nil, fmt.Errorf("read the embedded schema: %w", err)
	}
	migrations, err := sqlfs.Migrations()
	if err != nil {
		return nil, nil, fmt.Errorf("read the embedded migrations: %w", err)
	}
	return objects, migrations, nil
}

func checkVersion(ctx context.Context, conn *sqlx.Conn, objects []sqlfs.Object, want int) error {
	have, err := installedVersion(ctx, conn)
	if err != nil {
		return err
	}
	if have != want {
		return &SchemaVersionError{Have: have, Want: want}
	}
	deployed, err := deployedObjects(ctx, conn)
	if err != nil {
		return err
	}
	var changed []string
	for _, o := range objects {
		if o.Kind.IsCode() && deployed[strings.ToLower(o.Name)].SHA256 != o.SHA256 {
			changed = append(changed, o.Name)
		}
	}
	if len(changed) > 0 {
		return &SchemaVersionError{Have: have, Want: want, Changed: changed}
	}
	return nil
}

// installedVersion reads the schema's version. Without a schema it returns ErrNotInstalled. It
// returns ErrVersionHidden when the login sees the views but not the table of versions, such as a
// login with only the role jobs_reader, and ErrNoRole when it sees the schema but nothing in it.
func installedVersion(ctx context.Context, conn *sqlx.Conn) (int, error) {
	const op = "read the version of the control schema"
	var exists, hidden, forbidden bool
	var login, user string
	// Objects are visible only to those who have a permission on them; schemas to everybody
	// (https://learn.microsoft.com/sql/relational-databases/security/metadata-visibility-configuration).
	err := conn.QueryRowxContext(ctx, `SELECT
    CAST(CASE WHEN OBJECT_ID(N'jobs_internal.schema_versions', N'U') IS NULL THEN 0 ELSE 1 END AS BIT),
    CAST(CASE WHEN OBJECT_ID(N'jobs.job_executions', N'V') IS NULL THEN 0 ELSE 1 END AS BIT),
    CAST(CASE WHEN SCHEMA_ID(N'jobs_internal') IS NULL OR IS_ROLEMEMBER(N'db_owner') = 1 THEN 0 ELSE 1 END AS BIT),
    ORIGINAL_LOGIN(),
    USER_NAME();`).Scan(&exists, &hidden, &forbidden, &login, &user)
	if err != nil {
		return 0, dberror.Translate(op, err)
	}
	if !exists && !hidden && forbidden {
		return 0, fmt.Errorf("the login %s has %w: have a member of db_owner run ALTER ROLE jobs_reader ADD MEMBER [%s]; "+
			"in it (or jobs_operator, jobs_author, jobs_admin)", login, dberror.ErrNoRole, strings.ReplaceAll(user, "]", "]]"))
	}
	if !exists && hidden {
		return 0, fmt.Errorf("%s: %w: the role jobs_agent gives it", op, dberror.ErrVersionHidden)
	}
	var version sql.NullInt64
	if exists {
		if err := conn.GetContext(ctx, &version, `SELECT MAX(version) FROM jobs_internal.schema_versions;`); err != nil {
			return 0, dberror.Translate(op, err)
		}
	}
	if !version.Valid {
		return 0, fmt.Errorf("%s: %w: run \"jobagent db install\"", op, dberror.ErrNotInstalled)
	}
	return int(version.Int64), nil
}

// deployedObject is a row of jobs_internal.code_objects.
type deployedObject struct {
	Name   string `db:"name" json:"name"`
	Kind   string `db:"kind" json:"kind"`
	SHA256 string `db:"sha256" json:"sha256"`
}

// deployedMigration is a row of jobs_internal.schema_versions.
type deployedMigration struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	SHA256  string `json:"sha256"`
}

// deployedObjects reads the record of the deployed code objects, by lower-case name.
func deployedObjects(ctx context.Context, conn *sqlx.Conn) (map[string]deployedObject, error) {
	rows, err := call.SelectRows[deployedObject](ctx, conn, `SELECT name, kind, sha256 FROM jobs_internal.code_objects;`)
	if err != nil {
		return nil, dberror.Translate("read what was deployed", err)
	}
	byName := make(map[string]deployedObject, len(rows))
	for _, r := range rows {
		byName[strings.ToLower(r.Name)] = r
	}
	return byName, nil
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
		var list []deployedObject
		for _, o := range d.objects {
			if o.Kind.IsCode() {
				list = append(list, deployedObject{Name: o.Name, Kind: string(o.Kind), SHA256: o.SHA256})
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
func (s *Store) withDeployLock(ctx context.Context, f func(*sqlx.Conn) error) error {
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
		finding, err := notOwnerFinding(ctx, conn)
		if err != nil {
			return dberror.Translate(op, err)
		}
		return &UnfitError{finding}
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
