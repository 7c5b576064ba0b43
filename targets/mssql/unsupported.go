package mssql

import (
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/jobs/tsql"
)

// doubt is a statement of a batch that a trial cannot undo, or that cannot be in a transaction.
type doubt struct {
	line int
	// statement is the beginning of the statement, such as ALTER DATABASE.
	statement string
	reason    string
	// warns means that the batch may be sent nevertheless.
	warns bool
}

func (d doubt) String() string {
	return fmt.Sprintf("line %d: %s: %s", d.line, d.statement, d.reason)
}

// The reasons. The sources are pages of https://learn.microsoft.com.
const (
	// previous-versions/sql/sql-server-2008-r2/ms191544(v=sql.105), "Transact-SQL Statements
	// Allowed in Transactions"
	notInTransaction = "it cannot be in a transaction"
	// The same page: UPDATE STATISTICS "commits independently of the enclosing transaction and
	// cannot be rolled back".
	commitsItself = "it commits by itself and cannot be rolled back"
	// sql/t-sql/statements/alter-index-transact-sql, "Resumable index operations": RESUMABLE = ON
	// is not permitted inside of an explicit transaction.
	resumable = "an operation that can be resumed cannot be in a transaction"
	// sql/t-sql/language-elements/commit-transaction-transact-sql
	commitsTrial = "it has no BEGIN TRANSACTION before it in the batch, so it would commit what is to be rolled back"
	// sql/t-sql/language-elements/begin-distributed-transaction-transact-sql
	distributed = "it makes other servers part of the transaction"
	// sql/t-sql/statements/set-implicit-transactions-transact-sql, set-ansi-defaults-transact-sql:
	// both switch the mode that keeps statements after a ROLLBACK from committing.
	changesMode = "it changes how transactions begin, on which the rollback relies"
	outside     = "it acts outside of the transaction, and its effect stays"
	// sql/t-sql/language-elements/waitfor-transact-sql: locks are held during the wait.
	waits = "locks are held while it waits"
	// sql/t-sql/statements/create-sequence-transact-sql: numbers are made outside of the
	// transaction, and consumed whether it is committed or rolled back.
	sequence  = "the numbers of a sequence are not given back"
	elsewhere = "what it does on another server may not be rolled back"
	mail      = "mail leaves only when its transaction commits, which it does not"
)

// statements are the statements by their first words, which are reserved, so that no name without
// quotes is one of them
// (https://learn.microsoft.com/sql/t-sql/language-elements/reserved-keywords-transact-sql).
var statements = []struct {
	words  []string
	reason string
	warns  bool
}{
	{[]string{"ALTER", "DATABASE"}, notInTransaction, false},
	{[]string{"CREATE", "DATABASE"}, notInTransaction, false},
	{[]string{"DROP", "DATABASE"}, notInTransaction, false},
	{[]string{"ALTER", "FULLTEXT"}, notInTransaction, false},
	{[]string{"CREATE", "FULLTEXT"}, notInTransaction, false},
	{[]string{"DROP", "FULLTEXT"}, notInTransaction, false},
	{[]string{"BACKUP"}, notInTransaction, false},
	{[]string{"RESTORE"}, notInTransaction, false},
	{[]string{"RECONFIGURE"}, notInTransaction, false},
	{[]string{"UPDATE", "STATISTICS"}, commitsItself, false},
	{[]string{"KILL"}, outside, false},
	{[]string{"SHUTDOWN"}, outside, false},
	{[]string{"DBCC", "SHRINKDATABASE"}, notInTransaction, false},
	{[]string{"DBCC", "SHRINKFILE"}, notInTransaction, false},
	{[]string{"DBCC", "TRACEON"}, outside, false},
	{[]string{"DBCC", "TRACEOFF"}, outside, false},
	{[]string{"DBCC", "FREEPROCCACHE"}, outside, false},
	{[]string{"DBCC", "FREESYSTEMCACHE"}, outside, false},
	{[]string{"DBCC", "DROPCLEANBUFFERS"}, outside, false},
	{[]string{"BEGIN", "DISTRIBUTED"}, distributed, false},
	{[]string{"SET", "IMPLICIT_TRANSACTIONS"}, changesMode, false},
	{[]string{"SET", "ANSI_DEFAULTS"}, changesMode, false},
	{[]string{"RESUMABLE", "=", "ON"}, resumable, false},
	{[]string{"WAITFOR"}, waits, true},
	{[]string{"NEXT", "VALUE", "FOR"}, sequence, true},
	{[]string{"OPENQUERY", "("}, elsewhere, true},
	{[]string{"OPENROWSET", "("}, elsewhere, true},
	{[]string{"OPENDATASOURCE", "("}, elsewhere, true},
}

// procedure is a system procedure that a trial cannot undo.
type procedure struct {
	reason string
	warns  bool
}

// procedures are these procedures by their names in lower case.
var procedures = map[string]procedure{
	"xp_cmdshell": {outside, false}, "xp_regwrite": {outside, false}, "xp_regdeletevalue": {outside, false}, "xp_regdeletekey": {outside, false},
	"sp_oacreate": {outside, false}, "sp_oamethod": {outside, false}, "sp_oasetproperty": {outside, false},
	"sp_start_job": {outside, false}, "sp_stop_job": {outside, false}, "sp_execute_external_script": {outside, false},
	"sp_configure": {notInTransaction, false}, "sp_dboption": {notInTransaction, false}, "sp_attach_db": {notInTransaction, false},
	"sp_detach_db": {notInTransaction, false}, "sp_updatestats": {commitsItself, false}, "sp_fulltext_database": {notInTransaction, false},
	"sp_fulltext_catalog": {notInTransaction, false}, "sp_fulltext_table": {notInTransaction, false}, "sp_fulltext_column": {notInTransaction, false},
	"sp_send_dbmail": {mail, true},
}

// definesModule reports whether a batch creates or alters a procedure, a function, a trigger or a
// view. Then nothing in it runs: the body extends to the end of the batch.
func definesModule(tokens []tsql.Token) bool {
	if len(tokens) == 0 || !tokens[0].Is("CREATE") && !tokens[0].Is("ALTER") {
		return false
	}
	rest := tokens[1:]
	if len(rest) > 2 && rest[0].Is("OR") && rest[1].Is("ALTER") {
		rest = rest[2:]
	}
	for _, word := range []string{"PROC", "PROCEDURE", "FUNCTION", "TRIGGER", "VIEW"} {
		if len(rest) > 0 && rest[0].Is(word) {
			return true
		}
	}
	return false
}

// doubts returns the statements of a batch that a trial cannot undo. line is the number of the
// batch's first line in the script. Statements in procedures and in dynamic T-SQL cannot be seen;
// therefore the transaction is checked after each batch.
func doubts(text string, line int) ([]doubt, error) {
	tokens, err := tsql.Scan(text)
	if err != nil {
		return nil, fmt.Errorf("the batch at line %d cannot be judged, because it cannot be read: %w", line, err)
	}
	if definesModule(tokens) {
		return nil, nil
	}
	var found []doubt
	add := func(i int, statement, reason string, warns bool) {
		found = append(found, doubt{line + tokens[i].Line - 1, statement, reason, warns})
	}
	depth := 0       // number of transactions that the batch has begun
	granted := false // the words are names of permissions
	for i, t := range tokens {
		switch {
		case t.Is("GRANT"), t.Is("DENY"), t.Is("REVOKE"):
			granted = true
		case t.Is("TO"), t.Is("FROM"), t.Kind == tsql.Symbol && t.Text == ";":
			granted = false
		}
		if granted || i > 0 && tokens[i-1].Kind == tsql.Symbol && tokens[i-1].Text == "." {
			continue
		}
		switch {
		case begins(tokens[i:], "BEGIN", "TRAN"), begins(tokens[i:], "BEGIN", "TRANSACTION"):
			depth++
		case t.Is("COMMIT") && depth == 0:
			add(i, "COMMIT", commitsTrial, false)
		case t.Is("COMMIT"):
			depth--
		case begins(tokens[i:], "ALTER", "INDEX"):
			if resumes(tokens[i:]) {
				add(i, "ALTER INDEX", resumable, false)
			}
		case t.Is("EXEC"), t.Is("EXECUTE"):
			if isRemote(tokens[i+1:]) {
				add(i, strings.ToUpper(t.Text)+" … AT", outside, false)
			} else if name, p := called(tokens[i+1:]); p != nil {
				add(i, name, p.reason, p.warns)
			}
		case i == 0 && t.Kind == tsql.Word: // EXECUTE may be left out in the first statement
			if name, p := called(tokens); p != nil {
				add(i, name, p.reason, p.warns)
			}
		}
		for _, s := range statements {
			if begins(tokens[i:], s.words...) && !isTransactional(tokens[i:]) {
				add(i, strings.Join(s.words, " "), s.reason, s.warns)
			}
		}
	}
	return found, nil
}

// begins reports whether tokens begin with words and symbols.
func begins(tokens []tsql.Token, words ...string) bool {
	for i, word := range words {
		if i >= len(tokens) || !tokens[i].Is(word) && (tokens[i].Kind != tsql.Symbol || tokens[i].Text != word) {
			return false
		}
	}
	return true
}

// isTransactional reports whether a statement about a DATABASE is about an object in it: CREATE
// DATABASE SCOPED CREDENTIAL and DATABASE AUDIT SPECIFICATION.
func isTransactional(tokens []tsql.Token) bool {
	return len(tokens) > 3 && tokens[1].Is("DATABASE") &&
		(tokens[2].Is("SCOPED") && tokens[3].Is("CREDENTIAL") || tokens[2].Is("AUDIT") && tokens[3].Is("SPECIFICATION"))
}

// resumes reports whether an ALTER INDEX resumes, pauses or aborts an operation: these words follow
// the name of the table.
func resumes(tokens []tsql.Token) bool {
	for i, t := range tokens[:min(len(tokens), 12)] {
		if i > 3 && (t.Is("RESUME") || t.Is("PAUSE") || t.Is("ABORT")) {
			return true
		}
		if t.Is("REBUILD") || t.Is("REORGANIZE") || t.Is("DISABLE") || t.Is("SET") || t.Kind == tsql.Symbol && t.Text == ";" {
			return false
		}
	}
	return false
}

// isRemote reports whether what follows EXECUTE is a text for a linked server: (…) AT name.
func isRemote(tokens []tsql.Token) bool {
	depth := 0
	for i, t := range tokens {
		if i == 0 && (t.Kind != tsql.Symbol || t.Text != "(") {
			return false
		}
		if t.Kind != tsql.Symbol {
			continue
		}
		switch t.Text {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return i+1 < len(tokens) && tokens[i+1].Is("AT")
			}
		}
	}
	return false
}

// called returns the entry of procedures for the procedure that tokens call: [@result =] a name of
// up to four parts.
func called(tokens []tsql.Token) (string, *procedure) {
	if len(tokens) > 2 && tokens[0].Kind == tsql.Variable && tokens[1].Text == "=" {
		tokens = tokens[2:]
	}
	name := ""
	for _, t := range tokens {
		switch {
		case t.Kind == tsql.Word && name == "":
			name = t.Text
		case t.Kind == tsql.Symbol && t.Text == ".":
			name = ""
		default:
			p, ok := procedures[strings.ToLower(name)]
			if !ok {
				return "", nil
			}
			return name, &p
		}
	}
	if p, ok := procedures[strings.ToLower(name)]; ok {
		return name, &p
	}
	return "", nil
}
