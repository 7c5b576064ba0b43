package doctor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Facts is the row of doctor/database.sql.
type Facts struct {
	EngineEdition      int    `db:"engine_edition"`
	Edition            string `db:"edition"`
	ProductVersion     string `db:"product_version"`
	MachineName        string `db:"machine_name"`
	ServerName         string `db:"server_name"`
	Name               string `db:"database_name"`
	CompatibilityLevel int    `db:"compatibility_level"`
	RowVersions        bool   `db:"is_read_committed_snapshot_on"`
	Collation          string `db:"collation_name"`
	TempdbCollation    string `db:"tempdb_collation_name"`
	UserAccess         string `db:"user_access_desc"`
	ReadOnly           bool   `db:"is_read_only"`
	Updateability      string `db:"updateability"`
	State              string `db:"state_desc"`
	RecoveryModel      string `db:"recovery_model_desc"`
	LogReuseWait       string `db:"log_reuse_wait_desc"`
	Durability         string `db:"delayed_durability_desc"`
	Snapshot           string `db:"snapshot_isolation_state_desc"`
	IdentityCache      bool   `db:"identity_cache"`
	AutoClose          bool   `db:"is_auto_close_on"`
	AutoShrink         bool   `db:"is_auto_shrink_on"`
}

// Values of SERVERPROPERTY('EngineEdition')
// (https://learn.microsoft.com/sql/t-sql/functions/serverproperty-transact-sql).
const (
	EditionEnterprise      = 3 // and Developer, and Evaluation
	EditionExpress         = 4
	EditionAzureDatabase   = 5
	EditionSynapse         = 6
	EditionManagedInstance = 8
	EditionServerless      = 11
	EditionFabric          = 12
)

const (
	minMajorVersion       = 14 // SQL Server 2017
	majorVersion2022      = 16
	minCompatibilityLevel = 130
)

// ReadFacts reads the properties of a connection's database and server.
func ReadFacts(ctx context.Context, conn *sqlx.Conn) (Facts, error) {
	return call.SelectOne[Facts](ctx, conn, Text("database"))
}

// major returns the server's major version, such as 16 for SQL Server 2022. It returns 0 if the
// version is unknown, or for a service whose version number has no meaning.
func (f Facts) major() int {
	switch f.EngineEdition {
	case EditionAzureDatabase, EditionManagedInstance, EditionFabric:
		return 0
	}
	text, _, _ := strings.Cut(f.ProductVersion, ".")
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// alter returns an ALTER DATABASE … SET of the database.
func (f Facts) alter(set string) string {
	return fixDatabase(f.Name, "SET "+set)
}

// databaseFindings returns a finding for each property. The first finding is about the server's
// version.
func databaseFindings(f Facts) []Finding {
	return []Finding{
		f.versionFinding(), f.nameFinding(), f.stateFinding(), f.compatibilityFinding(),
		f.rowVersionsFinding(), f.collationFinding(), f.recoveryFinding(), f.durabilityFinding(),
		f.snapshotFinding(), f.identityCacheFinding(),
		f.optionFinding(
			CodeAutoClose,
			"AUTO_CLOSE",
			f.AutoClose,
			"the database shuts down when the last connection ends, and the next connection waits until it has started again",
		),
		f.optionFinding(
			CodeAutoShrink,
			"AUTO_SHRINK",
			f.AutoShrink,
			"the server shrinks files that then grow again, at unpredictable times",
		),
	}
}

func (f Facts) versionFinding() Finding {
	found := fmt.Sprintf("version %s, %s", f.ProductVersion, f.Edition)
	major := f.major()
	switch {
	case f.EngineEdition == EditionSynapse || f.EngineEdition == EditionServerless:
		return Finding{Code: CodeServerVersion, Severity: SeverityError, Found: found,
			Why: "Azure Synapse has no transactional tables", Command: "use SQL Server 2017 or newer, or Azure SQL Database"}
	case major != 0 && major < minMajorVersion:
		return Finding{Code: CodeServerVersion, Severity: SeverityError, Found: found,
			Why: "the procedures need SQL Server 2017 (version 14) or newer, or Azure SQL Database", Command: "use a newer server"}
	}
	return good(CodeServerVersion, "%s", found)
}

func (f Facts) nameFinding() Finding {
	if f.ServerName != "" {
		return good(CodeServerName, "@@SERVERNAME is %s", f.ServerName)
	}
	return Finding{Code: CodeServerName, Severity: SeverityWarning, Found: "@@SERVERNAME is NULL",
		Why: "the agent cannot tell whether a target server is the control database's own server; a new name takes effect after a restart of the server",
		SQL: fixServerName(f.MachineName)}
}

func (f Facts) stateFinding() Finding {
	const code = CodeState
	name := tsql.Name(f.Name)
	switch {
	case f.ReadOnly:
		return Finding{Code: code, Severity: SeverityError, Found: "database " + name + " is read-only",
			Why: "nothing can be written", SQL: f.alter("READ_WRITE WITH NO_WAIT")}
	case f.Updateability == "READ_ONLY":
		return Finding{Code: code, Severity: SeverityError, Found: "database " + name + " is read-only on this replica",
			Why: "nothing can be written", Command: "connect to the primary replica, without ApplicationIntent=ReadOnly"}
	case f.UserAccess == "SINGLE_USER":
		return Finding{Code: code, Severity: SeverityError, Found: "database " + name + " is in single-user mode",
			Why: "an agent needs several connections", SQL: f.alter("MULTI_USER")}
	case f.State != "" && f.State != "ONLINE":
		return Finding{Code: code, Severity: SeverityError, Found: fmt.Sprintf("database %s is %s", name, f.State),
			Why: "agents cannot use it", SQL: f.alter("ONLINE")}
	case f.UserAccess == "RESTRICTED_USER":
		return Finding{Code: code, Severity: SeverityWarning, Found: "database " + name + " is in restricted-user mode",
			Why: "only members of db_owner, dbcreator and sysadmin may connect", SQL: f.alter("MULTI_USER")}
	}
	return good(code, "database %s is online, writable and open to all users", name)
}

func (f Facts) compatibilityFinding() Finding {
	current := 10 * f.major()
	if f.CompatibilityLevel < minCompatibilityLevel {
		return Finding{Code: CodeCompatibility, Severity: SeverityError,
			Found: fmt.Sprintf("the compatibility level of database %s is %d", tsql.Name(f.Name), f.CompatibilityLevel),
			Why:   fmt.Sprintf("OPENJSON and STRING_SPLIT need level %d or above", minCompatibilityLevel),
			SQL:   f.alter(fmt.Sprintf("COMPATIBILITY_LEVEL = %d", max(current, minCompatibilityLevel)))}
	}
	if f.CompatibilityLevel < current {
		ok := good(
			CodeCompatibility,
			"the compatibility level is %d; the server's own is %d, with better plans for table variables from 150 on",
			f.CompatibilityLevel,
			current,
		)
		ok.SQL = f.alter(fmt.Sprintf("COMPATIBILITY_LEVEL = %d", current))
		return ok
	}
	return good(CodeCompatibility, "the compatibility level is %d", f.CompatibilityLevel)
}

func (f Facts) rowVersionsFinding() Finding {
	if f.RowVersions {
		return good(CodeRowVersions, "READ_COMMITTED_SNAPSHOT is on")
	}
	return Finding{Code: CodeRowVersions, Severity: SeverityError, Found: "READ_COMMITTED_SNAPSHOT is off",
		Why: "agents do not start: readers would wait for writers and deadlock with them; " +
			"stop all agents and fronts, which end their work first; the statement fails at once (5070) while another session uses the database",
		SQL: f.alter("READ_COMMITTED_SNAPSHOT ON WITH NO_WAIT")}
}

// collationFinding accepts every collation. Only a column with a collation other than the
// database's is a problem (checkCollations). tempdb's collation does not matter: no procedure
// creates a temporary table, and table variables have the collation of the database.
func (f Facts) collationFinding() Finding {
	if f.TempdbCollation != "" && f.TempdbCollation != f.Collation {
		return good(
			CodeCollation,
			"the database has %s; tempdb has %s, which is harmless",
			f.Collation,
			f.TempdbCollation,
		)
	}
	return good(CodeCollation, "the database has %s", f.Collation)
}

func (f Facts) recoveryFinding() Finding {
	if f.RecoveryModel == "SIMPLE" {
		return good(
			CodeRecovery,
			"the recovery model is SIMPLE: a restored database is as old as its last full or differential backup",
		)
	}
	return good(CodeRecovery, "the recovery model is %s; the log waits for %s", f.RecoveryModel, f.LogReuseWait)
}

// durabilityFinding accepts ALLOWED: no procedure commits with DELAYED_DURABILITY = ON.
func (f Facts) durabilityFinding() Finding {
	if f.Durability == "FORCED" {
		return Finding{Code: CodeDurability, Severity: SeverityWarning, Found: "DELAYED_DURABILITY is FORCED",
			Why: "a crash of the server may lose claims and outcomes that agents rely on, so that a script may run twice",
			SQL: f.alter("DELAYED_DURABILITY = ALLOWED")}
	}
	return good(CodeDurability, "commits are durable")
}

// snapshotFinding accepts both states: no procedure and no agent reads under SNAPSHOT, and reports
// of others may (sql/DESIGN.md, "Settings of the database").
func (f Facts) snapshotFinding() Finding {
	if f.Snapshot == "ON" {
		return good(CodeSnapshot, "ALLOW_SNAPSHOT_ISOLATION is on, which is harmless: a transaction that stays open under it keeps old row versions in tempdb")
	}
	return good(CodeSnapshot, "ALLOW_SNAPSHOT_ISOLATION is off")
}

func (f Facts) identityCacheFinding() Finding {
	if f.IdentityCache {
		return good(CodeIdentityCache, "IDENTITY_CACHE is on")
	}
	return Finding{Code: CodeIdentityCache, Severity: SeverityWarning, Found: "IDENTITY_CACHE is OFF",
		Why: "after a failover with loss of data, ids of tasks and terms that were lost are given again, so that an agent may report the outcome of a lost task for another one; " +
			"with the cache, ids jump ahead",
		SQL: "ALTER DATABASE SCOPED CONFIGURATION SET IDENTITY_CACHE = ON;"}
}

func (f Facts) optionFinding(code, option string, on bool, why string) Finding {
	if on {
		return Finding{
			Code:     code,
			Severity: SeverityWarning,
			Found:    option + " is on",
			Why:      why,
			SQL:      f.alter(option + " OFF"),
		}
	}
	return good(code, "%s is off", option)
}

// ErrUnfit means that the database or the login does not meet the requirements of a deployment. The
// error is an *[UnfitError].
var ErrUnfit = errors.New("the database is not fit for the control schema")

// UnfitError is the reason for a refused deployment. Nothing was changed.
type UnfitError struct {
	// Finding is the unmet requirement.
	Finding Finding
}

// Error implements error.
func (e *UnfitError) Error() string {
	return fmt.Sprintf(
		"%v: %s: %s; to fix it: %s",
		ErrUnfit,
		e.Finding.Found,
		e.Finding.Why,
		strings.ReplaceAll(e.Finding.Fix(), "\n", " "),
	)
}

// Is makes errors.Is(err, ErrUnfit) true.
func (e *UnfitError) Is(target error) bool { return target == ErrUnfit }

// CheckDeployment returns an *UnfitError if the database does not meet the requirements of a
// deployment. It changes nothing. With fresh, the schemas must not exist yet.
func CheckDeployment(ctx context.Context, conn *sqlx.Conn, fresh bool) (Facts, error) {
	const op = "check the database"
	facts, err := ReadFacts(ctx, conn)
	if err != nil {
		return facts, dberror.Translate(op, err)
	}
	for _, f := range databaseFindings(facts) {
		if f.Severity == SeverityError && f.Code != CodeRowVersions { // Install sets it, and agents check it
			return facts, &UnfitError{f}
		}
	}
	if fresh {
		objects, err := ReadObjects(ctx, conn)
		if err != nil {
			return facts, dberror.Translate(op, err)
		}
		if len(objects) > 0 {
			return facts, &UnfitError{takenSchemasFinding(objects)}
		}
	}
	found, err := tryDeployment(ctx, conn)
	if err != nil {
		return facts, dberror.Translate(op, err)
	}
	if found.Severity == SeverityError {
		return facts, &UnfitError{found}
	}
	return facts, nil
}

// SchemaObject is a row of doctor/objects.sql.
type SchemaObject struct {
	Schema string `db:"schema_name"`
	Name   string `db:"name"` // empty for the schema itself
	Kind   string `db:"kind"`
}

// ReadObjects reads the schemas of our names, and what is in them.
func ReadObjects(ctx context.Context, conn *sqlx.Conn) ([]SchemaObject, error) {
	return call.SelectRows[SchemaObject](ctx, conn, Text("objects"))
}

// takenSchemasFinding is about a database without our schema that has schemas of the same names.
func takenSchemasFinding(objects []SchemaObject) Finding {
	var schemas, names, drop []string
	for _, o := range objects {
		if o.Name == "" {
			schemas = append(schemas, o.Schema)
			drop = append(drop, fixEmptySchema(o.Schema))
		} else {
			names = append(names, o.Schema+"."+o.Name)
		}
	}
	f := Finding{
		Code:     CodeForeign,
		Severity: SeverityError,
		Found: "the database has the schema " + strings.Join(
			schemas,
			" and ",
		) + " already, and jobagent did not create it",
	}
	if len(names) == 0 {
		f.Why, f.SQL = "a deployment creates the schemas jobs, jobs_internal and jobs_rest", strings.Join(drop, "\n")
		return f
	}
	f.Found += fmt.Sprintf("; it holds %s (%s)", wording.Count(len(names), "object"), wording.First(names))
	f.Why = "the schemas belong to another product, such as Azure Elastic Jobs; a job database of that service cannot be shared"
	f.SQL = fixTakenSchemas
	return f
}

// tryDeployment creates one object of each kind in a transaction that is rolled back.
func tryDeployment(ctx context.Context, conn *sqlx.Conn) (Finding, error) {
	tx, err := conn.BeginTxx(ctx, nil)
	if err != nil {
		return Finding{}, err
	}
	_, err = tx.ExecContext(ctx, Text("deployment_rights"))
	if rollbackErr := tx.Rollback(); err == nil {
		err = rollbackErr
	}
	if err == nil {
		return good(CodeDeployRights, "the login may deploy"), nil
	}
	server, ok := dberror.ServerError(err)
	if !ok || server.Number == dberror.NumLockTimeout || server.Number == dberror.NumDeadlock {
		return Finding{}, err
	}
	if len(server.All) > 0 {
		server.Message = server.All[0].Message // the other errors follow from the first
	}
	user, err := currentUser(ctx, conn)
	return Finding{
		Code:     CodeDeployRights,
		Severity: SeverityError,
		Found:    fmt.Sprintf("user %s may not create the objects of the schema: %s", tsql.Name(user), server.Message),
		Why:      "a deployment creates schemas, tables, views, procedures and roles",
		SQL:      fixRole("db_owner", user),
	}, err
}

// NotOwner is about a login that may not deploy because it is not a member of db_owner.
func NotOwner(ctx context.Context, conn *sqlx.Conn) (Finding, error) {
	user, err := currentUser(ctx, conn)
	return Finding{
		Code:     CodeDeployRights,
		Severity: SeverityError,
		Found: fmt.Sprintf(
			"user %s may not create the objects of the schema: it is not a member of db_owner",
			tsql.Name(user),
		),
		Why: "a deployment creates schemas, tables, views, procedures and roles that belong to dbo",
		SQL: fixRole("db_owner", user)}, err
}

// currentUser returns the login's user in the database.
func currentUser(ctx context.Context, conn *sqlx.Conn) (string, error) {
	var user string
	err := conn.GetContext(ctx, &user, `SELECT USER_NAME();`)
	return user, err
}

// CheckRowVersions returns an *[UnfitError] if READ_COMMITTED_SNAPSHOT is off. Agents need it:
// without it, plain reads of passes wait for rows that others change, and deadlock with outcomes.
func (s Store) CheckRowVersions(ctx context.Context) error {
	const op = "check READ_COMMITTED_SNAPSHOT"
	ctx, cancel := s.conn.Bounded(ctx)
	defer cancel()
	conn, err := call.DB(s.conn).Connx(ctx)
	if err != nil {
		return dberror.TranslateCall(ctx, op, err)
	}
	defer conn.Close()
	facts, err := ReadFacts(ctx, conn)
	if err != nil {
		return dberror.TranslateCall(ctx, op, err)
	}
	if f := facts.rowVersionsFinding(); f.Severity == SeverityError {
		return &UnfitError{f}
	}
	return nil
}

// Online reports whether the edition builds indexes online: 3 is Enterprise and Developer
// (https://learn.microsoft.com/sql/t-sql/statements/create-index-transact-sql, "ONLINE").
func (f Facts) Online() bool {
	switch f.EngineEdition {
	case EditionEnterprise, EditionAzureDatabase, EditionManagedInstance:
		return true
	}
	return false
}

// LowPriority reports whether CREATE INDEX knows WAIT_AT_LOW_PRIORITY.
func (f Facts) LowPriority() bool {
	return f.EngineEdition != EditionEnterprise || f.major() >= majorVersion2022
}
