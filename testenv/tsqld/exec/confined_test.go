package exec

import (
	"context"
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// confinement is a way to confine a session to database ta.
type confinement struct {
	login   string // of the session
	confine string // batch that confines the session
	wrap    string // batch that executes a statement, which stands in its place for %s; "" if none is needed
}

// confinements are all ways to confine a session. The login owner is db_owner of ta and nothing
// else. The login clerk has ALTER ANY USER in ta and nothing else, and has made the user sa.
var confinements = map[string]confinement{
	"dbo":            {"owner", "USE ta; EXECUTE AS USER = 'dbo'", ""},
	"user sa":        {"owner", "USE ta; EXECUTE AS USER = 'sa'", ""},
	"own user":       {"owner", "USE ta; EXECUTE AS USER = 'owner'", ""},
	"without login":  {"owner", "USE ta; EXECUTE AS USER = 'bare'", ""},
	"twice":          {"owner", "USE ta; EXECUTE AS USER = 'dbo'; EXECUTE AS USER = 'sa'", ""},
	"text":           {"owner", "USE ta", "EXECUTE (N'%s') AS USER = 'dbo'"},
	"module's dbo":   {"owner", "USE ta", "EXECUTE dbo.as_dbo N'%s'"},
	"module's owner": {"owner", "USE ta", "EXECUTE dbo.as_owner N'%s'"},
	"module's self":  {"owner", "USE ta", "EXECUTE dbo.as_self N'%s'"},
	"module's sa":    {"owner", "USE ta", "EXECUTE dbo.as_sa N'%s'"},
	"clerk's module": {"clerk", "USE ta", "EXECUTE dbo.as_owner N'%s'"},
}

// serverStatements are statements at server scope with the errors that confined identities get. At
// %d is the ID of another session.
var serverStatements = map[string]int{
	"EXECUTE AS LOGIN = 'sa'":                                              15406,
	"EXECUTE AS LOGIN = 'owner'":                                           15406,
	"EXECUTE ('SELECT 1') AS LOGIN = 'sa'":                                 15406,
	"ALTER SERVER ROLE sysadmin ADD MEMBER owner":                          15151,
	"CREATE SERVER ROLE r":                                                 40517,
	"DROP SERVER ROLE r":                                                   40517,
	"CREATE LOGIN fresh WITH PASSWORD = 'Right-1'":                         15247,
	"CREATE LOGIN [CORP\\fresh] FROM WINDOWS":                              15247,
	"ALTER LOGIN sa WITH PASSWORD = 'Taken-1'":                             15151,
	"ALTER LOGIN sa WITH PASSWORD = 'Taken-1' OLD_PASSWORD = 'secret'":     15151,
	"ALTER LOGIN owner WITH PASSWORD = 'Taken-1' OLD_PASSWORD = 'Right-1'": 15151,
	"ALTER LOGIN owner WITH NAME = other":                                  15151,
	"ALTER LOGIN owner DISABLE":                                            15151,
	"DROP LOGIN owner":                                                     15151,
	"CREATE CREDENTIAL c WITH IDENTITY = 'x', SECRET = 'y'":                40517,
	"CREATE DATABASE fresh":                                                262,
	"DROP DATABASE tb":                                                     3701,
	"ALTER DATABASE tb SET RECOVERY SIMPLE":                                5011,
	"ALTER DATABASE tb MODIFY NAME = tc":                                   5011,
	"ALTER DATABASE ta SET TRUSTWORTHY ON":                                 5011,
	"ALTER DATABASE ta SET DB_CHAINING ON":                                 5011,
	"ALTER AUTHORIZATION ON DATABASE::ta TO sa":                            15151,
	"ALTER AUTHORIZATION ON DATABASE::ta TO owner":                         15151,
	"ALTER AUTHORIZATION ON DATABASE::tb TO owner":                         15151,
	"GRANT CONTROL SERVER TO owner":                                        4621,
	"GRANT VIEW SERVER STATE TO owner":                                     4621,
	"DENY VIEW SERVER STATE TO owner":                                      4621,
	"REVOKE VIEW SERVER STATE FROM owner":                                  4621,
	"USE master; GRANT VIEW SERVER STATE TO owner":                         15151,
	"GRANT IMPERSONATE ON LOGIN::sa TO owner":                              40517,
	"USE tb":                         916,
	"RAISERROR('x', 20, 1) WITH LOG": 2754,
	"CREATE TRIGGER k ON ALL SERVER FOR LOGON AS RETURN": 40517,
	"DISABLE TRIGGER k ON ALL SERVER":                    40517,
	"DBCC TRACEON(1204, -1)":                             40517,
	"BACKUP DATABASE tb TO DISK = 'x'":                   40517,
	"RECONFIGURE":                                        5812,
	"SHUTDOWN":                                           40517,
	"KILL %d":                                            6102,
	"EXEC sp_addsrvrolemember 'owner', 'sysadmin'":       15151,
	"EXEC sp_dropsrvrolemember 'sa', 'sysadmin'":         15151,
	"EXEC sp_addlogin 'fresh', 'Right-1'":                15247,
	"EXEC sp_droplogin 'owner'":                          15151,
	"EXEC sp_password NULL, 'Taken-1', 'sa'":             15151,
	"EXEC sp_defaultdb 'owner', 'ta'":                    15151,
	"EXEC sp_changedbowner 'owner'":                      15151,
	"EXEC sp_configure 'max degree of parallelism', 2":   15123,
	"EXEC sp_lock":                                       300,
	"SELECT * FROM sys.dm_tran_locks":                    300,
}

// otherStatements are the statements that need no permission on the server: they concern an object,
// a user or the data of a database, or the session itself. UnsupportedStmt and NoEffectStmt have no
// effect.
const otherStatements = `CreateTableStmt AlterTableStmt CreateIndexStmt AlterIndexStmt DropIndexStmt
	CreateProcedureStmt CreateFunctionStmt CreateViewStmt CreateTriggerStmt TriggerStmt CreateTypeStmt SequenceStmt CreateSynonymStmt
	CreateSchemaStmt AlterSchemaStmt NoEffectStmt InsertStmt UpdateStmt DeleteStmt
	MergeStmt TruncateStmt InsertBulkStmt RevertStmt UserStmt CredentialStmt DeclareStmt
	DeclareCursorStmt OpenStmt CloseStmt DeallocateStmt FetchStmt SetVarStmt SetOptionStmt SetStatisticsStmt
	SetValueStmt SetIsolationStmt SetIdentityInsertStmt IfStmt WhileStmt BreakStmt
	ContinueStmt BlockStmt GotoStmt LabelStmt ReturnStmt
	TryStmt ThrowStmt PrintStmt WaitForStmt BeginTranStmt CommitStmt RollbackStmt SaveTranStmt UnsupportedStmt`

// TestServerStatementsAreComplete expects that each type of statement is in serverStatements or in
// otherStatements.
func TestServerStatementsAreComplete(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for text := range serverStatements {
		b, err := parser.Parse(strings.ReplaceAll(text, "%d", "1"), parser.DefaultOptions)
		require.NoError(t, err, text)
		for _, st := range b.Stmts {
			known[strings.TrimPrefix(fmt.Sprintf("%T", st), "*syntax.")] = true
		}
	}
	for _, name := range strings.Fields(otherStatements) {
		known[name] = true
	}
	files, err := filepath.Glob("../syntax/nodes_*.go")
	require.NoError(t, err)
	n := 0
	for _, path := range files {
		f, err := goparser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(node ast.Node) bool {
			decl, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := decl.Type.(*ast.StructType)
			if !ok || len(s.Fields.List) == 0 {
				return true
			}
			if embedded, ok := s.Fields.List[0].Type.(*ast.Ident); ok && embedded.Name == "stmt" {
				n++
				require.True(t, known[decl.Name.Name], "%s: add it to serverStatements with the error that a confined identity gets, or to otherStatements", decl.Name.Name)
			}
			return true
		})
	}
	require.Greater(t, n, 60)
}

// confinedInstance makes an instance with the databases and logins of confinements.
func confinedInstance(t *testing.T, inst *Instance) {
	t.Helper()
	sa := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	for _, batch := range []string{
		"CREATE LOGIN owner WITH PASSWORD = 'Right-1'; CREATE LOGIN clerk WITH PASSWORD = 'Right-1'; CREATE DATABASE ta; CREATE DATABASE tb",
		"USE ta; CREATE USER owner FOR LOGIN owner; ALTER ROLE db_owner ADD MEMBER owner; CREATE USER bare WITHOUT LOGIN; CREATE USER clerk FOR LOGIN clerk; GRANT ALTER ANY USER TO clerk",
	} {
		must(t, sa, batch)
	}
	require.NoError(t, sa.Close())
	clerk := openSession(t, inst, session.Login{User: "clerk", Password: "Right-1", Database: "ta"})
	must(t, clerk, "CREATE USER sa WITHOUT LOGIN")
	require.Equal(t, 15517, errorOf(t, clerk, "EXECUTE AS USER = 'sa'"), "to make a user is not to impersonate it")
	require.NoError(t, clerk.Close())
	owner := openSession(t, inst, session.Login{User: "owner", Password: "Right-1", Database: "ta"})
	for _, as := range []string{"'dbo'", "OWNER", "SELF", "'sa'"} {
		must(t, owner, "CREATE PROCEDURE dbo.as_"+strings.ToLower(strings.Trim(as, "'"))+" @text NVARCHAR(MAX) WITH EXECUTE AS "+as+" AS EXECUTE (@text)")
	}
	must(t, owner, "GRANT EXECUTE TO clerk")
	require.NoError(t, owner.Close())
}

// errorOf returns the number of the first error of a batch, or 0.
func errorOf(t *testing.T, s *Session, batch string) int {
	t.Helper()
	found := regexp.MustCompile(`Msg (\d+), Level (?:1[1-9]|2)`).FindStringSubmatch(batchOutput(t, s, batch))
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}

// open opens a confined session. run wraps a statement so that the session executes it confined.
func (c confinement) open(t *testing.T, inst *Instance) (s *Session, wrap func(statement string) string) {
	t.Helper()
	s = openSession(t, inst, session.Login{User: c.login, Password: "Right-1"})
	must(t, s, c.confine)
	return s, func(statement string) string {
		if c.wrap == "" {
			return statement
		}
		return fmt.Sprintf(c.wrap, strings.ReplaceAll(statement, "'", "''"))
	}
}

// Identities that are confined to a database have no rights on the server, also if their users have
// the names of logins.
func TestConfinedIdentities(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	confinedInstance(t, inst)
	victim := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	for name, c := range confinements {
		for _, st := range slices.Sorted(maps.Keys(serverStatements)) {
			s, wrap := c.open(t, inst)
			text := strings.ReplaceAll(st, "%d", strconv.Itoa(int(victim.SPID())))
			require.Equal(t, serverStatements[st], errorOf(t, s, wrap(text)), "%s: %s", name, st)
			require.NoError(t, s.Close())
		}
		s, wrap := c.open(t, inst)
		must(t, s, wrap("IF IS_SRVROLEMEMBER('sysadmin') = 1 OR IS_SRVROLEMEMBER('sysadmin', 'owner') = 1 OR HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE') = 1 THROW 50000, 'server', 1"))
		require.NoError(t, s.Close())
	}
	must(t, victim, "SELECT 1")
	require.NoError(t, victim.Close())
}

// Confined identities see no other session, and not what it executes.
func TestConfinedIdentitiesSeeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inst, err := New(session.Config{Dir: t.TempDir(), SAPassword: "secret"})
		require.NoError(t, err)
		defer func() { require.NoError(t, inst.Close()) }()
		confinedInstance(t, inst)
		victim := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			var r recorder
			_ = victim.Batch(ctx, "BEGIN TRAN; DECLARE @canary CHAR(9) = 'Parrot-12'; WAITFOR DELAY '10:00:00'", &r) // is canceled
		}()
		defer func() {
			stop()
			<-ended
			require.NoError(t, victim.Close())
		}()
		synctest.Wait()

		sa := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
		views := regexp.MustCompile(`(?m)^'?(sys\.\w+ \w+)'?$`).FindAllStringSubmatch(must(t, sa,
			"SELECT 'sys.' + o.name + ' ' + c.name FROM sys.system_objects AS o JOIN sys.system_columns AS c ON c.object_id = o.object_id WHERE o.type = 'V' AND c.name IN ('session_id', 'spid', 'request_session_id', 'req_spid') ORDER BY 1"), -1)
		require.Greater(t, len(views), 5)
		const texts = "SELECT t.text FROM sys.dm_exec_requests AS r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) AS t"
		require.Contains(t, must(t, sa, texts), "Parrot-12")
		handle := regexp.MustCompile(`0x\w{20,}`).FindString(must(t, sa, fmt.Sprintf("SELECT sql_handle FROM sys.dm_exec_requests WHERE session_id = %d", victim.SPID())))
		require.NotEmpty(t, handle)
		require.NoError(t, sa.Close())
		for name, c := range confinements {
			s, wrap := c.open(t, inst)
			for _, v := range views {
				view, column, _ := strings.Cut(v[1], " ")
				st := fmt.Sprintf("IF EXISTS (SELECT * FROM %s WHERE %s <> @@SPID) THROW 50000, 'others', 1", view, column)
				require.Contains(t, []int{0, 300}, errorOf(t, s, wrap(st)), "%s: %s", name, view)
			}
			for _, st := range []string{texts, "SELECT text FROM sys.dm_exec_sql_text(" + handle + ")", "EXEC sp_who", "EXEC sp_who2", "SELECT * FROM sys.dm_exec_sessions", "SELECT * FROM sys.sysprocesses", fmt.Sprintf("DBCC INPUTBUFFER(%d)", victim.SPID()), fmt.Sprintf("EXEC sp_who %d", victim.SPID()), fmt.Sprintf("SELECT * FROM sys.dm_exec_input_buffer(%d, NULL)", victim.SPID())} {
				out := batchOutput(t, s, wrap(st))
				require.NotContains(t, out, "Parrot-12", "%s: %s", name, st)
				require.NotContains(t, out, "WAITFOR", "%s: %s", name, st)
			}
			require.NoError(t, s.Close())
		}
	})
}
