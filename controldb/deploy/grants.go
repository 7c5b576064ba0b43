package deploy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs/tsql"
)

// GrantRoles are the roles that [Grants] supports: the roles of the control database, and "target"
// for logins that run steps.
var GrantRoles = []string{"jobs_agent", "jobs_admin", "jobs_author", "jobs_operator", "jobs_reader", "jobs_front", GrantTarget}

// GrantTarget is the role of a login that runs steps on targets.
const GrantTarget = "target"

// The platforms that [Grants] supports.
const (
	PlatformSQLServer       = "sqlserver"
	PlatformAzureDatabase   = "azure-sql-database"
	PlatformManagedInstance = "managed-instance"
)

// Platforms lists the platforms.
var Platforms = []string{PlatformSQLServer, PlatformAzureDatabase, PlatformManagedInstance}

// GrantRequest describes the login for which [Grants] returns T-SQL.
type GrantRequest struct {
	// Login is the login's name, of 1 to 128 characters; for Entra the name of the user, group or
	// application. On SQL Server, DOMAIN\name is a Windows login.
	Login string
	// Role is one of GrantRoles.
	Role string
	// Platform is one of Platforms; empty: PlatformSQLServer.
	Platform string
	// Entra selects a Microsoft Entra ID login, without a password.
	Entra bool
	// Ledger is the T-SQL that creates the table of scripts that run at most once; only for
	// GrantTarget.
	Ledger string
}

// GrantSection is T-SQL that gives a login its rights in one database.
type GrantSection struct {
	Where string `json:"where"` // the database
	// SQL has lines with GO between its batches.
	SQL string `json:"sql"`
}

// Grants returns runnable T-SQL that gives a login the permissions of a role and no others. A
// comment above each statement gives its reason. The password in it is a placeholder that SQL
// Server's password policy refuses. Grants sends nothing to a server.
//
// It returns an error for an unsupported argument.
func Grants(r GrantRequest) ([]GrantSection, error) {
	if r.Platform == "" {
		r.Platform = PlatformSQLServer
	}
	switch {
	case r.Login == "" || utf8.RuneCountInString(r.Login) > 128:
		return nil, errors.New("invalid login name: want 1 to 128 characters")
	case strings.ContainsFunc(r.Login, func(c rune) bool { return c < ' ' }):
		return nil, fmt.Errorf("invalid login name %q: control characters are not allowed", r.Login)
	case !slices.Contains(GrantRoles, r.Role):
		return nil, fmt.Errorf("invalid role %q: want one of %s", r.Role, strings.Join(GrantRoles, ", "))
	case !slices.Contains(Platforms, r.Platform):
		return nil, fmt.Errorf("invalid platform %q: want one of %s", r.Platform, strings.Join(Platforms, ", "))
	case r.Entra && r.Platform == PlatformSQLServer:
		return nil, fmt.Errorf(
			"logins of Microsoft Entra ID need --platform %s or %s",
			PlatformAzureDatabase,
			PlatformManagedInstance,
		)
	}
	if r.Role == GrantTarget {
		return r.target(), nil
	}
	return r.control(), nil
}

// grantText collects statements, each with its reason as a comment.
type grantText struct{ b strings.Builder }

// add adds a statement. reason may have several lines.
func (t *grantText) add(reason, statement string) {
	for line := range strings.SplitSeq(reason, "\n") {
		fmt.Fprintf(&t.b, "-- %s\n", line)
	}
	fmt.Fprintf(&t.b, "%s\n", statement)
}

// optional adds a statement as a comment.
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
	whyPassword = "Replace the password. It is a placeholder that the password policy refuses."
)

// alone returns a statement about a login as a batch of its own on Azure SQL Database. There,
// CREATE LOGIN, and CREATE USER with FOR LOGIN, must be the only statement of a batch ("Azure SQL
// Database security guidelines and limitations", and
// https://learn.microsoft.com/azure/synapse-analytics/sql/sql-authentication, of the same gateway).
func (r GrantRequest) alone(statement string) string {
	if r.Platform == PlatformAzureDatabase {
		return statement + "\nGO"
	}
	return statement
}

// login adds the statement that creates the login.
func (r GrantRequest) login(t *grantText) {
	name := tsql.Name(r.Login)
	if r.Entra {
		t.add("A Microsoft Entra ID login, without a password.", r.alone("CREATE LOGIN "+name+" FROM EXTERNAL PROVIDER;"))
		return
	}
	if r.Platform == PlatformSQLServer && strings.Contains(r.Login, `\`) {
		t.add("A Windows login, without a password.", "CREATE LOGIN "+name+" FROM WINDOWS;")
		return
	}
	t.add(whyPassword, r.alone("CREATE LOGIN "+name+" WITH PASSWORD = N'<password>';"))
}

// state returns the statement that lets the login see other sessions of the server.
func (r GrantRequest) state() string {
	name := tsql.Name(r.Login)
	if r.Platform == PlatformManagedInstance {
		return "GRANT VIEW SERVER STATE TO " + name + ";"
	}
	// SQL Server 2022 introduced the permission; older versions cannot parse its name.
	return "IF CAST(SERVERPROPERTY(N'ProductMajorVersion') AS INT) >= 16\n    EXECUTE (" +
		tsql.Literal(
			"GRANT VIEW SERVER PERFORMANCE STATE TO "+name+";",
		) + ");\nELSE\n    GRANT VIEW SERVER STATE TO " + name + ";"
}

// control returns the T-SQL for a role of the control database.
func (r GrantRequest) control() []GrantSection {
	name := tsql.Name(r.Login)
	var server, database grantText
	r.login(&server)
	if r.Role == "jobs_agent" && r.Platform != PlatformAzureDatabase {
		server.optional("Optional: the agent logs the login and program of a session that blocks passes.", r.state())
	}
	database.add(whyUser, r.alone("CREATE USER "+name+" FOR LOGIN "+name+";"))
	reason := grantReasons[r.Role]
	if r.Role == "jobs_front" && r.Entra {
		// https://learn.microsoft.com/azure/azure-sql/database/authentication-azure-ad-only-authentication
		reason += "\nThe login must be that of the front, not of a group: EXECUTE AS does not work for members of a group."
	}
	database.add(reason, "ALTER ROLE "+r.Role+" ADD MEMBER "+name+";")
	if r.Role == "jobs_agent" && r.Platform == PlatformAzureDatabase {
		database.optional("Optional: the agent logs the login and program of a session that blocks passes.",
			"GRANT VIEW DATABASE STATE TO "+name+";")
	}
	return []GrantSection{server.section(inMaster), database.section(inControl)}
}

// grantReasons describe the purpose of each role; sql/roles has its permissions.
var grantReasons = map[string]string{
	"jobs_agent": "Allows the calls of an agent and nothing else: no access to tables, no definitions. Scripts of jobs never run with this login, so it\n" +
		"needs no permission in any target database and must have none.",
	"jobs_admin":    "Everything that an author may do; also purges history and changes settings.",
	"jobs_author":   "Everything that an operator may do; also defines jobs, steps, schedules and target groups. Its scripts run with the credentials of targets.",
	"jobs_operator": "Everything that a reader may do; also starts, stops and reruns executions, and pauses schedules.",
	"jobs_reader":   "Reads all public views and explains what an execution waits for.",
	"jobs_front": "Allows a REST front to make the calls of its callers as the users of their roles, which the database checks; no calls of its own.\n" +
		"Give the login no other role.",
}

// target returns the T-SQL for a login that runs steps.
func (r GrantRequest) target() []GrantSection {
	name := tsql.Name(r.Login)
	azure := r.Platform == PlatformAzureDatabase
	var server, database, output grantText
	r.login(&server)
	if azure {
		server.add(
			"Target groups with servers or elastic pools: the agent lists their databases in master.",
			r.alone("CREATE USER "+name+" FOR LOGIN "+name+";"),
		)
		server.optional(
			"Optional, for target groups with elastic pools, and for limits by pool: sys.database_service_objectives, which lists the pools,\n"+
				"shows all databases to members of dbmanager only, who may also create and drop databases.\n"+
				"https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-database-service-objectives-azure-sql-database",
			"ALTER ROLE dbmanager ADD MEMBER "+name+";",
		)
		server.optional(
			"Optional, for canceling in elastic pools and small service objectives, where VIEW DATABASE STATE is not enough to see sessions.",
			"ALTER SERVER ROLE ##MS_ServerStateReader## ADD MEMBER "+name+";",
		)
	} else {
		server.add("Target groups with servers: the agent lists their databases. All logins have this permission unless it was revoked from public.",
			"GRANT VIEW ANY DATABASE TO "+name+";")
		server.add("Canceling: to see whether a script that ignored the request to end has ended.", r.state())
		server.add("Canceling: to end it with KILL. This ends any session of the server; without it, such an attempt ends as Unknown.",
			"GRANT ALTER ANY CONNECTION TO "+name+";")
	}
	database.add(whyUser, r.alone("CREATE USER "+name+" FOR LOGIN "+name+";"))
	if azure {
		database.add(
			"Canceling: to see whether a script that ignored the request to end has ended.",
			"GRANT VIEW DATABASE STATE TO "+name+";",
		)
		database.add(
			"Canceling: to end it with KILL; without it, such an attempt ends as Unknown.",
			"GRANT KILL DATABASE CONNECTION TO "+name+";",
		)
	}
	database.add(
		"Steps that run at most once: the table that records which scripts have committed. Create it with this script, so that the\n"+
			"login needs no permission to create schemas and tables.",
		strings.TrimSpace(r.Ledger),
	)
	database.add("Steps that run at most once: a row for each script, which the agent deletes after some days.",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON OBJECT::jobagent.executed_scripts TO "+name+";")
	database.optional(
		"The permissions that the scripts of your jobs need. For example:",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON SCHEMA::dbo TO "+name+";",
	)

	user := "CREATE USER " + name + " FOR LOGIN " + name + ";"
	if azure { // IF would be another statement of the batch
		output.add("The login's user. If this is a target database, too, it is there already: then leave this statement out.", r.alone(user))
	} else {
		output.add("The login's user, unless this is a target database, too.",
			"IF DATABASE_PRINCIPAL_ID("+tsql.Literal(r.Login)+") IS NULL\n    "+user)
	}
	output.add("Output tables: the agent creates a missing table, with its index, in the schema that the step names.",
		"GRANT CREATE TABLE TO "+name+";\nGRANT ALTER ON SCHEMA::dbo TO "+name+";")
	output.add(
		"Output tables: the rows of a later attempt replace those of an earlier one. Without the two grants above, the tables must exist; then\n"+
			"grant this on these tables only.",
		"GRANT SELECT, INSERT, DELETE ON SCHEMA::dbo TO "+name+";",
	)
	return []GrantSection{server.section(inMaster), database.section(inTarget), output.section(inOutput)}
}
