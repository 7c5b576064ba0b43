package doctor

import (
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/jobs/tsql"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// The T-SQL of findings is for administrators; this program never sends it.

// The statements without variable parts.
const (
	fixTakenSchemas = "CREATE DATABASE [jobagent]; -- in the database master, and install there"
	fixHistory      = "DECLARE @deleted INT = 1;\nWHILE @deleted > 0\n    EXECUTE jobs_internal.purge_history @batch_size = 100, @deleted = @deleted OUTPUT;"
	fixLeftovers    = "DECLARE @remaining BIT = 1, @deleted INT = 1;\nWHILE @remaining = 1 AND @deleted > 0\n" +
		"    EXECUTE jobs_internal.delete_leftovers @deleted = @deleted OUTPUT, @remaining = @remaining OUTPUT;"
	fixOpenTransaction = "DBCC OPENTRAN; -- names the session: end its transaction, or KILL it"
)

// statementOf returns the statement of a file without the comment in its first line.
func statementOf(file string) string {
	_, statement, _ := strings.Cut(Text(file), "\n")
	return strings.TrimSpace(statement)
}

// fixDatabase changes the database: what is SET … or MODIFY FILE ….
func fixDatabase(database, what string) string {
	return fmt.Sprintf("ALTER DATABASE %s %s;", tsql.Name(database), what)
}

// fixServerName sets the server's name.
func fixServerName(name string) string {
	return fmt.Sprintf("EXECUTE master.sys.sp_addserver @server = %s, @local = 'local';", tsql.Literal(name))
}

// fixSession ends a session.
func fixSession(id int) string { return fmt.Sprintf("KILL %d;", id) }

// fixRole adds a user to a role.
func fixRole(role, user string) string {
	return fmt.Sprintf("ALTER ROLE %s ADD MEMBER %s;", role, tsql.Name(user))
}

// fixRoleMember takes a user out of a role.
func fixRoleMember(role, user string) string {
	return fmt.Sprintf("ALTER ROLE %s DROP MEMBER %s;", tsql.Name(role), tsql.Name(user))
}

// fixRoleUser creates a user without login, as which REST fronts make calls.
func fixRoleUser(user string) string { return fmt.Sprintf("CREATE USER %s WITHOUT LOGIN;", user) }

// fixImpersonate lets REST fronts make calls as a user.
func fixImpersonate(user string) string {
	return fmt.Sprintf("GRANT IMPERSONATE ON USER::%s TO jobs_front;", user)
}

// fixGrant gives a permission to a role; on is "SELECT ON OBJECT::…".
func fixGrant(on, role string) string { return fmt.Sprintf("GRANT %s TO %s;", on, tsql.Name(role)) }

// fixRevoke takes a permission away from a role. withOption says that the role may grant it to
// others; with keep, only this is taken away.
func fixRevoke(on, role string, withOption, keep bool) string {
	text := "REVOKE "
	if withOption && keep {
		text += "GRANT OPTION FOR "
	}
	text += fmt.Sprintf("%s FROM %s", on, tsql.Name(role))
	if withOption {
		text += " CASCADE"
	}
	return text + ";"
}

// fixEmptySchema drops an empty schema.
func fixEmptySchema(schema string) string {
	return fmt.Sprintf("DROP SCHEMA %s;", tsql.Name(schema))
}

// fixForeign moves a foreign object out of the schemas of jobagent; name is quoted. A
// trigger moves only with its table, so it is dropped.
func fixForeign(kind, name string) string {
	switch kind {
	case "TYPE":
		return fmt.Sprintf("ALTER SCHEMA dbo TRANSFER TYPE::%s;", name)
	case "SQL_TRIGGER":
		return fmt.Sprintf("DROP TRIGGER %s;", name)
	}
	return fmt.Sprintf("ALTER SCHEMA dbo TRANSFER %s;", name)
}

// constraintText returns the statement that adds a constraint; kind is PRIMARY KEY or UNIQUE.
// options are those of its index, as WITH (FILLFACTOR = 85); they may be empty.
func constraintText(table, name, kind, columns, options string) string {
	return strings.TrimSpace(fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s (%s) %s", table, name, kind, columns, options))
}

// fixIndex makes an index match its declaration. With online, an index that is no constraint is
// built while others change its table.
func fixIndex(declared index, exists, disabled, online bool) string {
	build := sqlfs.Statement{Text: declared.text + ";"}
	switch {
	case disabled:
		return fmt.Sprintf("ALTER INDEX %s ON %s REBUILD;", declared.name, declared.table)
	case declared.constraint && exists:
		return fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s;\n%s", declared.table, declared.name, build.Text)
	case exists:
		build.Text = declared.text + " WITH (DROP_EXISTING = ON);"
	}
	if online && !declared.constraint {
		return build.Online(false)
	}
	return build.Text
}

// fixEscalation sets LOCK_ESCALATION.
func fixEscalation(table, option string) string {
	return fmt.Sprintf("ALTER TABLE %s SET (LOCK_ESCALATION = %s);", table, option)
}

// fixConstraint enables a constraint and checks all rows.
func fixConstraint(table, name string) string {
	return fmt.Sprintf("ALTER TABLE %s WITH CHECK CHECK CONSTRAINT %s;", table, tsql.Name(name))
}

// fixColumnCollations gives columns a collation.
func fixColumnCollations(columns []collated, collation string) string {
	var b strings.Builder
	b.WriteString("-- A column in an index or constraint (5074): drop these before. jobagent doctor then has the statements that add them again.\n")
	for _, c := range columns {
		null := "NOT NULL"
		if c.Nullable {
			null = "NULL"
		}
		fmt.Fprintf(&b, "ALTER TABLE %s ALTER COLUMN %s %s COLLATE %s %s;\n", c.Table, tsql.Name(c.Column), c.Type, collation, null)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// fixCollation changes the collation of the database.
func fixCollation(collation string) string {
	return strings.ReplaceAll(statementOf("change_collation"), "$(collation)", collation)
}

// fixSetting removes a stored setting.
func fixSetting(name string) string {
	return strings.ReplaceAll(statementOf("remove_setting"), "$(name)", strings.ReplaceAll(name, "'", "''"))
}
