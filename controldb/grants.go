package controldb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs/tsql"
)

// GrantRoles are the roles that [Grants] knows: those of the control database, and "target" for logins with which steps run.
var GrantRoles = []string{"jobs_agent", "jobs_admin", "jobs_author", "jobs_operator", "jobs_reader", GrantTarget}

// GrantTarget is the role of a login with which steps run on targets.
const GrantTarget = "target"

// The platforms that [Grants] knows.
const (
	PlatformSQLServer       = "sqlserver"
	PlatformAzureDatabase   = "azure-sql-database"
	PlatformManagedInstance = "managed-instance"
)

// Platforms lists them.
var Platforms = []string{PlatformSQLServer, PlatformAzureDatabase, PlatformManagedInstance}

// GrantRequest says for whom T-SQL is wanted.
type GrantRequest struct {
	// Login is the login's name, of 1 to 128 characters; for Entra the name of the user, group or application. On SQL Server DOMAIN\name is
	// one of Windows.
	Login string
	// Role is one of GrantRoles.
	Role string
	// Platform is one of Platforms; empty: PlatformSQLServer.
	Platform string
	// Entra makes a login of Microsoft Entra ID, without a password.
	Entra bool
	// Ledger is the T-SQL that makes the table of scripts that run at most once; only for GrantTarget.
	Ledger string
}

// GrantSection is T-SQL that runs in one database.
type GrantSection struct {
	// Where says in which database.
	Where string `json:"where"`
	SQL   string `json:"sql"`
}

// Grants is runnable T-SQL that gives a login what a role needs, and no more; each statement has its reason above it. The password in it
// is a placeholder, which SQL Server's password policy refuses. Nothing is sent anywhere.
//
// It returns an error if an argument is none of those that are known.
func Grants(r GrantRequest) ([]GrantSection, error) {
	if r.Platform == "" {
		r.Platform = PlatformSQLServer
	}
	switch {
	case r.Login == "" || utf8.RuneCountInString(r.Login) > 128:
		return nil, errors.New("a login name of 1 to 128 characters is needed")
	case strings.ContainsFunc(r.Login, func(c rune) bool { return c < ' ' }):
		return nil, fmt.Errorf("login name %q has control characters", r.Login)
	case !slices.Contains(GrantRoles, r.Role):
		return nil, fmt.Errorf("invalid role %q: want one of %s", r.Role, strings.Join(GrantRoles, ", "))
	case !slices.Contains(Platforms, r.Platform):
		return nil, fmt.Errorf("invalid platform %q: want one of %s", r.Platform, strings.Join(Platforms, ", "))
	case r.Entra && r.Platform == PlatformSQLServer:
		return nil, fmt.Errorf("logins of Microsoft Entra ID need --platform %s or %s", PlatformAzureDatabase, PlatformManagedInstance)
	}
	if r.Role == GrantTarget {
		return r.target(), nil
	}
	return r.control(), nil
}

// grantText collects statements, each with its reason.
type grantText struct{ b strings.Builder }

// add adds a statement; reason is one line or several.
func (t *grantText) add(reason, statement string) {
	for line := range strings.SplitSeq(reason, "\n") {
		fmt.Fprintf(&t.b, "-- %s\n", line)
	}
	fmt.Fprintf(&t.b, "%s\n", statement)
}

// optional adds a statement that is commented out.
func (t *grantText) optional(reason, statement string) {
	t.add(reason, "-- "+strings.ReplaceAll(statement, "\n", "\n-- "))
}

func (t *grantText) section(where string) GrantSection {
	return GrantSection{Where: where, SQL: t.b.String()}
}

const (
	inMaster    = "in the database master"
	inControl   = "in the control database"
	inTarget    = "in each target database"
	inOutput    = "in each database with output tables"
	whyUser     = "The login's user in this database."
	whyPassword = "Replace the password; this one is a placeholder, which the password policy refuses."
)

// login makes the login.
func (r GrantRequest) login(t *grantText) {
	name := tsql.Name(r.Login)
	if r.Entra {
		t.add("A login of Microsoft Entra ID: no password is stored anywhere.", "CREATE LOGIN "+name+" FROM EXTERNAL PROVIDER;")
		return
	}
	if r.Platform == PlatformSQLServer && strings.Contains(r.Login, `\`) {
		t.add("A login of Windows: no password is stored anywhere.", "CREATE LOGIN "+name+" FROM WINDOWS;")
		return
	}
	t.add(whyPassword, "CREATE LOGIN "+name+" WITH PASSWORD = N'<password>';")
}

// state lets the login see other sessions of the server.
func (r GrantRequest) state() string {
	name := tsql.Name(r.Login)
	if r.Platform == PlatformManagedInstance {
		return "GRANT VIEW SERVER STATE TO " + name + ";"
	}
	// The permission came with SQL Server 2022, whose parser only reads it.
	return "IF CAST(SERVERPROPERTY(N'ProductMajorVersion') AS INT) >= 16\n    EXECUTE (" +
		tsql.Literal("GRANT VIEW SERVER PERFORMANCE STATE TO "+name+";") + ");\nELSE\n    GRANT VIEW SERVER STATE TO " + name + ";"
}

// control is what a role of the control database takes.
func (r GrantRequest) control() []GrantSection {
	name := tsql.Name(r.Login)
	var server, database grantText
	r.login(&server)
	if r.Role == "jobs_agent" && r.Platform != PlatformAzureDatabase {
		server.optional("Optional: the agent's log then says which session keeps passes from advancing, with its login and program.", r.state())
	}
	database.add(whyUser, "CREATE USER "+name+" FOR LOGIN "+name+";")
	database.add(grantReasons[r.Role], "ALTER ROLE "+r.Role+" ADD MEMBER "+name+";")
	if r.Role == "jobs_agent" && r.Platform == PlatformAzureDatabase {
		database.optional("Optional: the agent's log then says which session keeps passes from advancing, with its login and program.",
			"GRANT VIEW DATABASE STATE TO "+name+";")
	}
	return []GrantSection{server.section(inMaster), database.section(inControl)}
}

// grantReasons say what each role is for; sql/roles has what each may do.
var grantReasons = map[string]string{
	"jobs_agent": "What an agent calls, and no more: it reads no table, and can define nothing. No text of a job runs with this login, so that it\n" +
		"needs no right in any target database, and must have none.",
	"jobs_admin":    "Does what an author does, purges history, and changes settings.",
	"jobs_author":   "Defines jobs, steps, schedules and target groups; does what an operator does. Its scripts run with the credentials of targets.",
	"jobs_operator": "Starts, stops and reruns executions, and pauses schedules; does what a reader does.",
	"jobs_reader":   "Reads all public views, and asks what an execution waits for.",
}

// target is what a login needs with which steps run.
func (r GrantRequest) target() []GrantSection {
	name := tsql.Name(r.Login)
	azure := r.Platform == PlatformAzureDatabase
	var server, database, output grantText
	r.login(&server)
	if azure {
		server.add("Target groups with servers or elastic pools: the agent lists their databases in master.", "CREATE USER "+name+" FOR LOGIN "+name+";")
		server.optional("Optional, for target groups with elastic pools, and for limits by pool: sys.database_service_objectives, which knows the pools,\n"+
			"shows all databases to members of dbmanager only, who may also create and drop databases.\n"+
			"https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-database-service-objectives-azure-sql-database",
			"ALTER ROLE dbmanager ADD MEMBER "+name+";")
		server.optional("Optional, for canceling in elastic pools and small service objectives, where VIEW DATABASE STATE is not enough to see sessions.",
			"ALTER SERVER ROLE ##MS_ServerStateReader## ADD MEMBER "+name+";")
	} else {
		server.add("Target groups with servers: the agent lists their databases. All logins may by default, unless somebody has revoked it from public.",
			"GRANT VIEW ANY DATABASE TO "+name+";")
		server.add("Canceling: to see whether a script that did not hear the request to end has ended.", r.state())
		server.add("Canceling: to end it with KILL. This ends any session of the server; without it, such an attempt ends as Unknown.",
			"GRANT ALTER ANY CONNECTION TO "+name+";")
	}
	database.add(whyUser, "CREATE USER "+name+" FOR LOGIN "+name+";")
	if azure {
		database.add("Canceling: to see whether a script that did not hear the request to end has ended.", "GRANT VIEW DATABASE STATE TO "+name+";")
		database.add("Canceling: to end it with KILL; without it, such an attempt ends as Unknown.", "GRANT KILL DATABASE CONNECTION TO "+name+";")
	}
	database.add("Steps that run at most once: the table by which the agent sees that a script has committed. Who runs this makes it, so that the\n"+
		"login needs no right to create schemas and tables.", strings.TrimSpace(r.Ledger))
	database.add("Steps that run at most once: a row for each script, which goes after some days.",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON OBJECT::jobagent.executed_scripts TO "+name+";")
	database.optional("What the scripts of the jobs do; nobody but you knows. For instance:", "GRANT SELECT, INSERT, UPDATE, DELETE ON SCHEMA::dbo TO "+name+";")

	output.add("The login's user, unless this is a target database, too.", "IF DATABASE_PRINCIPAL_ID("+tsql.Literal(r.Login)+") IS NULL\n    CREATE USER "+name+" FOR LOGIN "+name+";")
	output.add("Output tables: the agent makes a table that is missing, with its index, in the schema that the step names.",
		"GRANT CREATE TABLE TO "+name+";\nGRANT ALTER ON SCHEMA::dbo TO "+name+";")
	output.add("Output tables: it replaces the rows of an attempt by those of the next one. Without the two grants above, tables must be there; then\n"+
		"grant this on them only.", "GRANT SELECT, INSERT, DELETE ON SCHEMA::dbo TO "+name+";")
	return []GrantSection{server.section(inMaster), database.section(inTarget), output.section(inOutput)}
}
