package installed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	sqlfs "github.com/jobagent/jobagent/sql"
)

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
func (s Store) Compare(ctx context.Context) (Comparison, error) {
	objects, migrations, err := Embedded()
	if err != nil {
		return Comparison{}, err
	}
	conn, err := call.DB(s.conn).Connx(ctx)
	if err != nil {
		return Comparison{}, dberror.Translate("verify the control schema", err)
	}
	defer conn.Close()
	version, err := ReadVersion(ctx, conn)
	if err != nil {
		return Comparison{}, err
	}
	deployed, err := ReadObjects(ctx, conn)
	if err != nil {
		return Comparison{}, err
	}
	c, err := CompareObjects(ctx, conn, objects, deployed)
	c.Version, c.Want = version, len(migrations)
	return c, err
}

// Verify returns nil when the installed schema is exactly this program's; extra objects are
// ignored. It returns [dberror.ErrNotInstalled], or a *[dberror.SchemaVersionError] that lists the
// differences. It only reads.
func (s Store) Verify(ctx context.Context) error {
	c, err := s.Compare(ctx)
	if err != nil {
		return err
	}
	if c.Version != c.Want || len(c.Missing)+len(c.Changed) > 0 {
		return &dberror.SchemaVersionError{Have: c.Version, Want: c.Want, Missing: c.Missing, Changed: c.Changed}
	}
	return nil
}

// CompareObjects finds missing, changed and extra objects. deployed is the record of the
// deployment, by lower-case name.
func CompareObjects(
	ctx context.Context,
	conn *sqlx.Conn,
	objects []sqlfs.Object,
	deployed map[string]Object,
) (Comparison, error) {
	const op = "verify the control schema"
	var c Comparison
	sees, err := SeesDefinitions(ctx, conn)
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
			(deployed[key].SHA256 != o.SHA256 || otherOptions[key] || text != "" && sqlfs.ModuleBody(text) != sqlfs.ModuleBody(o.Text)) {
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
		case otherOptions[key] || text != "" && sqlfs.ModuleBody(text) != sqlfs.ModuleBody(o.Text):
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

// SeesDefinitions reports whether the login sees the definitions of objects on which it has no
// permission. Without VIEW DEFINITION, such objects seem to be missing. NULL stands for the current
// database: HAS_PERMS_BY_NAME reads a name as an identifier of several parts, so that it does not
// find a name with a dot
// (https://learn.microsoft.com/sql/t-sql/functions/has-perms-by-name-transact-sql).
func SeesDefinitions(ctx context.Context, conn *sqlx.Conn) (bool, error) {
	n, err := call.SelectOne[int](ctx, conn, `SELECT HAS_PERMS_BY_NAME(NULL, N'DATABASE', N'VIEW DEFINITION');`)
	return n == 1, err
}

// CheckVersion returns nil when the record of the deployment matches this program. It returns
// [dberror.ErrNotInstalled], a *[dberror.SchemaVersionError], or [dberror.ErrVersionHidden] for a
// login that may not read the record. It is cheap: it reads two small tables.
func (s Store) CheckVersion(ctx context.Context) error {
	objects, migrations, err := Embedded()
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
	return CheckRecord(ctx, conn, objects, len(migrations))
}

// CheckProtocol checks whether the installed schema, which may be the schema of another release,
// supports the protocol of this program's agents. Commands may use such a schema, as far as it has
// what they call. other holds the differences that CheckVersion finds, or nil. The errors are those
// of CheckVersion, and [dberror.ErrSchemaVersion] when the schema does not support the protocol.
func (s Store) CheckProtocol(ctx context.Context) (other *dberror.SchemaVersionError, err error) {
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
	case controldb.AgentProtocol < understood.Oldest || controldb.AgentProtocol > understood.Newest:
		return nil, other
	}
	return other, nil
}

// CheckAgent checks whether an agent or a front of this program may work with the installed schema.
// It is CheckProtocol, and also returns [dberror.ErrSchemaVersion] when the schema lacks what this
// program calls. So the schema of a later release passes, and that of an earlier release does not.
func (s Store) CheckAgent(ctx context.Context) (other *dberror.SchemaVersionError, err error) {
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
		return nil, &dberror.SchemaVersionError{Have: other.Have, Want: other.Want, Missing: missing}
	}
	return other, nil
}

// missingCalls returns the procedures, parameters and views that roles use in this release and that
// the database lacks: releases with the same tables have the same version. Procedures that only
// other procedures call do not count, because a later release may have dropped them. Parameters are
// compared as far as the login sees them.
func (s Store) missingCalls(ctx context.Context) (missing []string, err error) {
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
	deployed, err := ReadObjects(ctx, conn)
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

// Embedded returns the objects and the migrations of this program.
func Embedded() ([]sqlfs.Object, []sqlfs.Migration, error) {
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

// CheckRecord is [Store.CheckVersion] on a connection, for the objects and the version of a
// program.
func CheckRecord(ctx context.Context, conn *sqlx.Conn, objects []sqlfs.Object, want int) error {
	have, err := ReadVersion(ctx, conn)
	if err != nil {
		return err
	}
	if have != want {
		return &dberror.SchemaVersionError{Have: have, Want: want}
	}
	deployed, err := ReadObjects(ctx, conn)
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
		return &dberror.SchemaVersionError{Have: have, Want: want, Changed: changed}
	}
	return nil
}

// ReadVersion reads the schema's version. Without a schema it returns ErrNotInstalled. It
// returns ErrVersionHidden when the login sees the views but not the table of versions, such as a
// login with only the role jobs_reader, and ErrNoRole when it sees the schema but nothing in it.
func ReadVersion(ctx context.Context, conn *sqlx.Conn) (int, error) {
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

// Object is a row of jobs_internal.code_objects.
type Object struct {
	Name   string `db:"name" json:"name"`
	Kind   string `db:"kind" json:"kind"`
	SHA256 string `db:"sha256" json:"sha256"`
}

// ReadObjects reads the record of the deployed code objects, by lower-case name.
func ReadObjects(ctx context.Context, conn *sqlx.Conn) (map[string]Object, error) {
	rows, err := call.SelectRows[Object](ctx, conn, `SELECT name, kind, sha256 FROM jobs_internal.code_objects;`)
	if err != nil {
		return nil, dberror.Translate("read what was deployed", err)
	}
	byName := make(map[string]Object, len(rows))
	for _, r := range rows {
		byName[strings.ToLower(r.Name)] = r
	}
	return byName, nil
}

// Version returns the version of the installed schema, or [dberror.ErrNotInstalled].
func (s Store) Version(ctx context.Context) (int, error) {
	ctx, cancel := s.conn.Bounded(ctx)
	defer cancel()
	conn, err := call.DB(s.conn).Connx(ctx)
	if err != nil {
		return 0, dberror.TranslateCall(ctx, "read the version of the control schema", err)
	}
	defer conn.Close()
	return ReadVersion(ctx, conn)
}
