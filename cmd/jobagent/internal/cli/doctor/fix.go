package doctor

import (
	"fmt"

	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/targets/mssql"
)

// denyAccess returns T-SQL that denies a login access to a database.
func denyAccess(v mssql.Principal, database string) string {
	switch {
	case v.SysAdmin:
		return fmt.Sprintf("ALTER SERVER ROLE sysadmin DROP MEMBER %s; -- or use another login for targets",
			tsql.Name(v.Login))
	case v.User == "dbo":
		return fmt.Sprintf("ALTER AUTHORIZATION ON DATABASE::%s TO sa; -- it owns the database", tsql.Name(database))
	case v.User == "guest":
		return fmt.Sprintf("USE %s; REVOKE CONNECT FROM guest;", tsql.Name(database))
	default:
		return fmt.Sprintf("USE %s; DROP USER %s;", tsql.Name(database), tsql.Name(v.User))
	}
}
