package answer

import "github.com/jobagent/jobagent/testenv/tsqld/syntax"

// Command is the kind of the statement that a [Done] ends. MS-TDS 2.2.7.6 leaves the values to the
// server, but clients rely on those of SQL Server: SqlClient counts statements by Command, and
// mssql-jdbc uses it to decide which statements have a row count. Most values are those of a
// recorded SQL Server 2025. 0 is a statement whose value is unknown.
type Command uint16

// The commands of statements that send rows or counts, and of parts of statements.
const (
	CommandCondition  Command = 0xC0 // a condition of IF or WHILE
	CommandSelect     Command = 0xC1
	CommandSelectInto Command = 0xC2
	CommandInsert     Command = 0xC3
	CommandDelete     Command = 0xC4
	CommandUpdate     Command = 0xC5
	CommandExecute    Command = 0xE0 // the end of a procedure
	CommandBulkInsert Command = 0xF0
	CommandRaise      Command = 0xF6 // RAISERROR and THROW
	CommandBatch      Command = 0xFD // the end of a batch whose last statement sends no DONE
	CommandMerge      Command = 0x117
	CommandTry        Command = 0x15D // the start of a TRY block
	CommandCatch      Command = 0x15E // the start of a CATCH block
	CommandEndTry     Command = 0x15F // the end of the TRY or CATCH block that ran last
)

// dropCommands maps the kind of object of a DROP to its command.
var dropCommands = map[string]Command{
	"TABLE": 0xC7, "DATABASE": 0xCC, "VIEW": 0xD0, "PROCEDURE": 0xDF, "TRIGGER": 0xE1, "FUNCTION": 0xB3,
	"DEFAULT": 0xEE,
	"RULE":    0xED, "STATISTICS": 0x100, "TYPE": 0x110, "USER": 0x13D, "ROLE": 0x141, "APPLICATION ROLE": 0x144,
	"LOGIN":   0x147,
	"SYNONYM": 0x149, "CREDENTIAL": 0x19A, "MASTER KEY": 0x19C,
}

// byVerb returns create or alter, according to the verb of a statement.
func byVerb(v syntax.Verb, create, alter Command) Command {
	if v == syntax.Alter {
		return alter
	}
	return create
}

// CommandOf returns the command of a statement.
func CommandOf(st syntax.Stmt) Command {
	switch st := st.(type) {
	case *syntax.SelectStmt:
		return CommandSelect
	case *syntax.InsertStmt:
		return CommandInsert
	case *syntax.UpdateStmt:
		if st.CurrentOf != nil {
			return 0x7D
		}
		return CommandUpdate
	case *syntax.DeleteStmt:
		if st.CurrentOf != nil {
			return 0x7E
		}
		return CommandDelete
	case *syntax.MergeStmt:
		return CommandMerge
	case *syntax.CreateTableStmt:
		return 0xC6
	case *syntax.AlterTableStmt:
		return 0xD8
	case *syntax.CreateIndexStmt:
		return 0xC8
	case *syntax.AlterIndexStmt:
		return 0x151
	case *syntax.DropIndexStmt:
		return 0xC9
	case *syntax.DropStmt:
		return dropCommands[st.Kind]
	case *syntax.CreateDatabaseStmt:
		return 0xCB
	case *syntax.CreateViewStmt:
		return 0xCF
	case *syntax.CreateProcedureStmt:
		return 0xDE
	case *syntax.CreateTriggerStmt:
		return 0xDD
	case *syntax.CreateFunctionStmt:
		return 0xB2
	case *syntax.CreateTypeStmt:
		return 0x111
	case *syntax.TruncateStmt:
		return 0xEA
	case *syntax.AlterSchemaStmt:
		return 0x14B
	case *syntax.CreateSynonymStmt:
		return 0x148
	}
	if c := controlCommand(st); c != 0 {
		return c
	}
	return securityCommand(st)
}

// controlCommand is CommandOf for control flow, variables, options, transactions and cursors.
func controlCommand(st syntax.Stmt) Command {
	switch st := st.(type) {
	case *syntax.SetVarStmt, *syntax.DeclareStmt, *syntax.DeclareCursorStmt, *syntax.FetchStmt:
		return CommandSelect
	case *syntax.PrintStmt:
		return 0xF7
	case *syntax.RaiserrorStmt, *syntax.ThrowStmt:
		return CommandRaise
	case *syntax.ReturnStmt:
		return 0xDB
	case *syntax.BreakStmt, *syntax.ContinueStmt:
		return 0xCA
	case *syntax.SetOptionStmt:
		if st.On {
			return 0xB9
		}
		return 0xBA
	case *syntax.BeginTranStmt:
		return 0xD4
	case *syntax.RollbackStmt:
		return 0xD2
	case *syntax.OpenStmt:
		return 0x20
	case *syntax.CloseStmt:
		return 0x2B
	case *syntax.DeallocateStmt:
		return 0x2C
	}
	return 0
}

// securityCommand is CommandOf for principals and permissions.
func securityCommand(st syntax.Stmt) Command {
	switch st := st.(type) {
	case *syntax.PermissionStmt:
		return map[string]Command{"GRANT": 0xCD, "REVOKE": 0xCE, "DENY": 0x99}[st.Action]
	case *syntax.UserStmt:
		return byVerb(st.Verb, 0x13B, 0x13C)
	case *syntax.RoleStmt:
		return byVerb(st.Verb, 0x13F, 0x140)
	case *syntax.LoginStmt:
		return byVerb(st.Verb, 0x145, 0x146)
	case *syntax.CredentialStmt:
		return byVerb(st.Verb, 0x198, 0x199)
	case *syntax.AlterAuthorizationStmt:
		return 0x18C
	case *syntax.DBCCStmt:
		return 0xE6
	}
	return 0
}
