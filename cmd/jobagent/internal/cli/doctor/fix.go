package doctor

import (
	"fmt"

	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/targets/mssql"
)

// denyAccess returns T-SQL that denies a login access to a database, or else an instruction.
func denyAccess(v mssql.Principal, database string) (statement, command string) {
	where := func(statement string) (string, string) {
		// There, USE fails for another database (40508), and so would what follows it.
		// https://learn.microsoft.com/sql/t-sql/language-elements/use-transact-sql
		if v.AzureDatabase {
			return fmt.Sprintf("%s -- in the database %s", statement, tsql.Name(database)), ""
		}
		return fmt.Sprintf("USE %s; %s", tsql.Name(database), statement), ""
	}
	switch {
	case v.SysAdmin:
		return fmt.Sprintf("ALTER SERVER ROLE sysadmin DROP MEMBER %s; -- or use another login for targets",
			tsql.Name(v.Login)), ""
	case v.User == "dbo" && v.AzureDatabase:
		return "", "use another login for targets: this one is an administrator of the server, or owns the database"
	case v.User == "dbo":
		return fmt.Sprintf("ALTER AUTHORIZATION ON DATABASE::%s TO sa; -- it owns the database", tsql.Name(database)), ""
	case v.User == "guest":
		return where("REVOKE CONNECT FROM guest;")
	case v.ByGroup:
		return "", "use another login for targets: this one is a member of a group that has a user in the database"
	default:
		return where(fmt.Sprintf("DROP USER %s;", tsql.Name(v.User)))
	}
}
