package controldb

import (
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/jobs/tsql"
)

// The T-SQL of findings. It is for people; this program never sends it.

// The texts that depend on nothing.
const (
	mendTakenSchemas = "CREATE DATABASE [jobagent]; -- and install there"
	mendHistory      = "DECLARE @deleted INT = 1;\nWHILE @deleted > 0\n    EXECUTE jobs_internal.purge_history @batch_size = 100, @deleted = @deleted OUTPUT;"
	mendLeftovers    = "DECLARE @remaining BIT = 1, @deleted INT = 1;\nWHILE @remaining = 1 AND @deleted > 0\n" +
		"    EXECUTE jobs_internal.delete_leftovers @deleted = @deleted OUTPUT, @remaining = @remaining OUTPUT;"
	mendOpenTransaction = "DBCC OPENTRAN; -- names the session: end its transaction, or KILL it"
)

// statementOf is the statement of a file for people, without the comment above it.
func statementOf(file string) string {
	_, statement, _ := strings.Cut(doctorText(file), "\n")
	return strings.TrimSpace(statement)
}

// mendDatabase changes the database: what is SET …, MODIFY FILE … or COLLATE ….
func mendDatabase(database, what string) string {
	return fmt.Sprintf("ALTER DATABASE %s %s;", tsql.Name(database), what)
}

// mendServerName gives the server its name.
func mendServerName(name string) string {
	return fmt.Sprintf("EXECUTE master.sys.sp_addserver @server = %s, @local = 'local';", tsql.Literal(name))
}

// mendSession ends a session.
func mendSession(id int) string { return fmt.Sprintf("KILL %d;", id) }

// mendRole adds a user to a role.
func mendRole(role, user string) string {
	return fmt.Sprintf("ALTER ROLE %s ADD MEMBER %s;", role, tsql.Name(user))
}

// mendEmptySchema drops a schema that holds nothing.
func mendEmptySchema(schema string) string {
	return fmt.Sprintf("DROP SCHEMA %s;", tsql.Name(schema))
}

// mendForeign takes an object of somebody else out of our schemas; name is quoted. A trigger goes with its table, so it can only be dropped.
func mendForeign(kind, name string) string {
	switch kind {
	case "TYPE":
		return fmt.Sprintf("ALTER SCHEMA dbo TRANSFER TYPE::%s;", name)
	case "SQL_TRIGGER":
		return fmt.Sprintf("DROP TRIGGER %s;", name)
	}
	return fmt.Sprintf("ALTER SCHEMA dbo TRANSFER %s;", name)
}

// constraintText adds a constraint; of PRIMARY KEY or UNIQUE.
func constraintText(table, name, kind, columns string) string {
	return fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s (%s)", table, name, kind, columns)
}

// mendIndex makes an index what it is declared as.
func mendIndex(declared index, exists, disabled bool) string {
	switch {
	case !exists:
		return declared.text + ";"
	case disabled:
		return fmt.Sprintf("ALTER INDEX %s ON %s REBUILD;", declared.name, declared.table)
	case declared.constraint:
		return fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s;\n%s;", declared.table, declared.name, declared.text)
	}
	return declared.text + " WITH (DROP_EXISTING = ON);"
}

// mendEscalation sets LOCK_ESCALATION.
func mendEscalation(table, option string) string {
	return fmt.Sprintf("ALTER TABLE %s SET (LOCK_ESCALATION = %s);", table, option)
}

// mendLog backs the log up, to a file in the server's folder for backups.
func mendLog(database string) string {
	return fmt.Sprintf("BACKUP LOG %s TO DISK = %s;", tsql.Name(database), tsql.Literal(database+".trn"))
}

// mendSetting takes a stored setting back.
func mendSetting(name string) string {
	return strings.ReplaceAll(statementOf("remove_setting"), "$(name)", strings.ReplaceAll(name, "'", "''"))
}
