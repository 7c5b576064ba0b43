package controldb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/jobs/tsql"
)

// databaseFacts is the row of doctor/database.sql.
type databaseFacts struct {
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
	AutoClose          bool   `db:"is_auto_close_on"`
	AutoShrink         bool   `db:"is_auto_shrink_on"`
}

// Values of SERVERPROPERTY('EngineEdition')
// (https://learn.microsoft.com/sql/t-sql/functions/serverproperty-transact-sql).
const (
	editionExpress         = 4
	editionAzureDatabase   = 5
	editionSynapse         = 6
	editionManagedInstance = 8
	editionServerless      = 11
	editionFabric          = 12
)

const (
	leastMajorVersion = 14 // SQL Server 2017
	leastLevel        = 130
)

// readDatabase reads the facts about the database of a connection.
func readDatabase(ctx context.Context, conn *sqlx.Conn) (databaseFacts, error) {
	return selectOne[databaseFacts](ctx, conn, doctorText("database"))
}

// major is the server's version, as 16 for SQL Server 2022; 0: unknown, or a service whose number says nothing.
func (f databaseFacts) major() int {
	switch f.EngineEdition {
	case editionAzureDatabase, editionManagedInstance, editionFabric:
		return 0
	}
	text, _, _ := strings.Cut(f.ProductVersion, ".")
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// alter is an ALTER DATABASE of the database.
func (f databaseFacts) alter(set string) string {
	return mendDatabase(f.Name, "SET "+set)
}

// judgeDatabase says what the facts mean. The first finding is about the server's version.
func judgeDatabase(f databaseFacts) []Finding {
	return []Finding{
		f.judgeVersion(), f.judgeName(), f.judgeState(), f.judgeLevel(), f.judgeRowVersions(), f.judgeTempdb(), f.judgeRecovery(),
		f.judgeDurability(),
		f.judgeSwitch(CodeAutoClose, "AUTO_CLOSE", f.AutoClose, "the database is shut down when the last connection ends, and each next one waits until it has started"),
		f.judgeSwitch(CodeAutoShrink, "AUTO_SHRINK", f.AutoShrink, "the server shrinks files that grow again, at times that nobody chooses"),
	}
}

func (f databaseFacts) judgeVersion() Finding {
	found := fmt.Sprintf("version %s, %s", f.ProductVersion, f.Edition)
	major := f.major()
	switch {
	case f.EngineEdition == editionSynapse || f.EngineEdition == editionServerless:
		return Finding{Code: CodeServerVersion, Severity: SeverityError, Found: found,
			Why: "Azure Synapse has no transactional tables", Command: "use SQL Server 2017 or newer, or Azure SQL Database"}
	case major != 0 && major < leastMajorVersion:
		return Finding{Code: CodeServerVersion, Severity: SeverityError, Found: found,
			Why: "the procedures need SQL Server 2017 (version 14) or newer, or Azure SQL Database", Command: "use a newer server"}
	}
	return good(CodeServerVersion, "%s", found)
}

func (f databaseFacts) judgeName() Finding {
	if f.ServerName != "" {
		return good(CodeServerName, "@@SERVERNAME is %s", f.ServerName)
	}
	return Finding{Code: CodeServerName, Severity: SeverityWarning, Found: "@@SERVERNAME is NULL",
		Why: "the agent cannot tell whether a target server is the control database's own server; the name shows after a restart of the server",
		SQL: mendServerName(f.MachineName)}
}

func (f databaseFacts) judgeState() Finding {
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
	return good(code, "database %s is online, for reading and writing, for all users", name)
}

func (f databaseFacts) judgeLevel() Finding {
	current := 10 * f.major()
	if f.CompatibilityLevel < leastLevel {
		return Finding{Code: CodeCompatibility, Severity: SeverityError,
			Found: fmt.Sprintf("the compatibility level of database %s is %d", tsql.Name(f.Name), f.CompatibilityLevel),
			Why:   fmt.Sprintf("OPENJSON and STRING_SPLIT need level %d or above", leastLevel),
			SQL:   f.alter(fmt.Sprintf("COMPATIBILITY_LEVEL = %d", max(current, leastLevel)))}
	}
	if f.CompatibilityLevel < current {
		ok := good(CodeCompatibility, "the compatibility level is %d; the server's own is %d, with better plans for table variables from 150 on", f.CompatibilityLevel, current)
		ok.SQL = f.alter(fmt.Sprintf("COMPATIBILITY_LEVEL = %d", current))
		return ok
	}
	return good(CodeCompatibility, "the compatibility level is %d", f.CompatibilityLevel)
}

func (f databaseFacts) judgeRowVersions() Finding {
	if f.RowVersions {
		return good(CodeRowVersions, "READ_COMMITTED_SNAPSHOT is on")
	}
	return Finding{Code: CodeRowVersions, Severity: SeverityWarning, Found: "READ_COMMITTED_SNAPSHOT is off",
		Why: "readers wait for writers: a report delays agents and an open transaction delays reports, and agents repeat more passes after deadlocks; " +
			"the statement ends the connections of everybody else in the database, and agents connect again",
		SQL: f.alter("READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE")}
}

// judgeTempdb is about collations. All are supported; what hurts are columns of another one (checkCollations). No procedure makes
// a temporary table, and table variables have the collation of the database, so tempdb's does not matter.
func (f databaseFacts) judgeTempdb() Finding {
	if f.TempdbCollation != "" && f.TempdbCollation != f.Collation {
		return good(CodeCollation, "the database has %s; tempdb has %s, which does no harm", f.Collation, f.TempdbCollation)
	}
	return good(CodeCollation, "the database has %s", f.Collation)
}

func (f databaseFacts) judgeRecovery() Finding {
	if f.RecoveryModel == "SIMPLE" {
		return good(CodeRecovery, "the recovery model is SIMPLE: a restored database is as old as its last full or differential backup")
	}
	return good(CodeRecovery, "the recovery model is %s; the log waits for %s", f.RecoveryModel, f.LogReuseWait)
}

func (f databaseFacts) judgeDurability() Finding {
	if f.Durability == "FORCED" {
		return Finding{Code: CodeDurability, Severity: SeverityWarning, Found: "DELAYED_DURABILITY is FORCED",
			Why: "a crash of the server may lose claims and outcomes that agents rely on, so that a script may run twice",
			SQL: f.alter("DELAYED_DURABILITY = ALLOWED")}
	}
	return good(CodeDurability, "commits are durable")
}

func (f databaseFacts) judgeSwitch(code, option string, on bool, why string) Finding {
	if on {
		return Finding{Code: code, Severity: SeverityWarning, Found: option + " is on", Why: why, SQL: f.alter(option + " OFF")}
	}
	return good(code, "%s is off", option)
}

// ErrUnfit means that the database, or the login, is not fit for a deployment. The error is an *[UnfitError].
var ErrUnfit = errors.New("the database is not fit for the control schema")

// UnfitError says why a deployment was refused. Nothing was changed.
type UnfitError struct {
	// Finding is what stands against it.
	Finding Finding
}

func (e *UnfitError) Error() string {
	return fmt.Sprintf("%v: %s: %s; to mend it: %s", ErrUnfit, e.Finding.Found, e.Finding.Why, strings.ReplaceAll(e.Finding.Mend(), "\n", " "))
}

// Is makes errors.Is(err, ErrUnfit) true.
func (e *UnfitError) Is(target error) bool { return target == ErrUnfit }

// checkDeployment refuses a deployment into a database that is not fit for it. It changes nothing. fresh says that the schemas are to be made.
func checkDeployment(ctx context.Context, conn *sqlx.Conn, fresh bool) (databaseFacts, error) {
	const op = "check the database"
	facts, err := readDatabase(ctx, conn)
	if err != nil {
		return facts, translate(op, err)
	}
	for _, f := range judgeDatabase(facts) {
		if f.Severity == SeverityError {
			return facts, &UnfitError{f}
		}
	}
	if fresh {
		objects, err := readObjects(ctx, conn)
		if err != nil {
			return facts, translate(op, err)
		}
		if len(objects) > 0 {
			return facts, &UnfitError{judgeTaken(objects)}
		}
	}
	found, err := tryDeployment(ctx, conn)
	if err != nil {
		return facts, translate(op, err)
	}
	if found.Severity == SeverityError {
		return facts, &UnfitError{found}
	}
	return facts, nil
}

// schemaObject is a row of doctor/objects.sql.
type schemaObject struct {
	Schema string `db:"schema_name"`
	Name   string `db:"name"` // empty for the schema itself
	Kind   string `db:"kind"`
}

func readObjects(ctx context.Context, conn *sqlx.Conn) ([]schemaObject, error) {
	return selectRows[schemaObject](ctx, conn, doctorText("objects"))
}

// judgeTaken is about schemas of our names in a database that does not have our schema.
func judgeTaken(objects []schemaObject) Finding {
	var schemas, names, drop []string
	for _, o := range objects {
		if o.Name == "" {
			schemas = append(schemas, o.Schema)
			drop = append(drop, mendEmptySchema(o.Schema))
		} else {
			names = append(names, o.Schema+"."+o.Name)
		}
	}
	f := Finding{Code: CodeForeign, Severity: SeverityError, Found: "the database has the schema " + strings.Join(schemas, " and ") + " already, and jobagent has not made it"}
	if len(names) == 0 {
		f.Why, f.SQL = "a deployment makes the schemas jobs and jobs_internal", strings.Join(drop, "\n")
		return f
	}
	f.Found += fmt.Sprintf("; it holds %s (%s)", plural(len(names), "object"), firstNames(names))
	f.Why = "the schemas belong to somebody else, such as Azure Elastic Jobs; a job database of that service cannot be shared"
	f.SQL = mendTakenSchemas
	return f
}

// tryDeployment tries to create what a deployment creates, in a transaction that is rolled back.
func tryDeployment(ctx context.Context, conn *sqlx.Conn) (Finding, error) {
	_, err := conn.ExecContext(ctx, doctorText("deployment_rights"))
	if err == nil {
		return good(CodeDeployRights, "the login may deploy"), nil
	}
	server, ok := sqlError(err)
	if !ok {
		return Finding{}, err
	}
	if len(server.All) > 0 {
		server.Message = server.All[0].Message // the others follow from the first
	}
	user, err := currentUser(ctx, conn)
	return Finding{Code: CodeDeployRights, Severity: SeverityError, Found: fmt.Sprintf("user %s may not create what the schema consists of: %s", tsql.Name(user), server.Message),
		Why: "a deployment creates schemas, tables, views, procedures and roles",
		SQL: mendRole("db_owner", user)}, err
}

// notOwner is the finding about a login that may not deploy because it is no member of db_owner.
func notOwner(ctx context.Context, conn *sqlx.Conn) (Finding, error) {
	user, err := currentUser(ctx, conn)
	return Finding{Code: CodeDeployRights, Severity: SeverityError, Found: fmt.Sprintf("user %s may not create what the schema consists of: it is no member of db_owner", tsql.Name(user)),
		Why: "a deployment creates schemas, tables, views, procedures and roles that belong to dbo",
		SQL: mendRole("db_owner", user)}, err
}

// currentUser is the login's user in the database.
func currentUser(ctx context.Context, conn *sqlx.Conn) (string, error) {
	var user string
	err := conn.GetContext(ctx, &user, `SELECT USER_NAME();`)
	return user, err
}

// turnOnRowVersions turns READ_COMMITTED_SNAPSHOT on if nobody else uses the database: NO_WAIT makes the statement fail otherwise,
// at once (https://learn.microsoft.com/sql/t-sql/statements/alter-database-transact-sql-set-options). What the server refuses is left to
// the finding about row versions.
func turnOnRowVersions(ctx context.Context, conn *sqlx.Conn) error {
	_, err := conn.ExecContext(ctx, `ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH NO_WAIT;`)
	if _, ok := sqlError(err); ok && ctx.Err() == nil {
		return nil
	}
	return translate("turn READ_COMMITTED_SNAPSHOT on", err)
}
