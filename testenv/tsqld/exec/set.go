package exec

import (
	"strings"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// settings executes SET and USE.
type settings struct{ *run }

// setVar executes SET @v = x and its compound forms.
func (r settings) setVar(st *syntax.SetVarStmt) error {
	if st.Cursor != nil {
		return cursors(r).setCursor(st)
	}
	v := r.f.variable(st.Name)
	if v == nil {
		return failure.Compile(mserr.UndeclaredVariable(st.Name))
	}
	if v.isCur {
		return cursors(r).assignCursor(v, st)
	}
	e := st.Value
	if st.Op != syntax.OpNone {
		e = r.f.unit.Compound(st)
	}
	mark := r.s.Meter().Mark()
	val, err := r.value(e, v.typ)
	r.s.Meter().Release(mark) // store accounts for the value from here on
	if err != nil {
		return err
	}
	if err := declarations(r).store(v, val); err != nil {
		return err
	}
	return r.assigned(1)
}

// published makes the change by a SET statement visible to other sessions. It returns err.
func (r settings) published(err error) error {
	r.s.PublishState()
	return err
}

// setOptions executes SET option ON|OFF.
func (r settings) setOptions(st *syntax.SetOptionStmt) error {
	s := r.s
	inModule := r.f.kind == procFrame || r.f.kind == functionFrame
	for _, name := range st.Options {
		if inModule && (name == "QUOTED_IDENTIFIER" || name == "ANSI_NULLS") {
			continue // a module keeps the settings of its creation
		}
		kept := s.Options
		if err := s.Options.SetFlag(name, st.On); err != nil {
			return err
		}
		if inModule { // ANSI_DEFAULTS has changed them
			s.Options.QuotedIdentifier, s.Options.AnsiNulls = kept.QuotedIdentifier, kept.AnsiNulls
		}
	}
	return nil
}

// deadlockWords are the named values of SET DEADLOCK_PRIORITY.
var deadlockWords = map[string]int{"LOW": -5, "NORMAL": 0, "HIGH": 5}

// setValue executes SET option value.
func (r settings) setValue(st *syntax.SetValueStmt) error {
	s := r.s
	switch st.Option {
	case "LOCK_TIMEOUT", "ROWCOUNT", "DATEFIRST", "TEXTSIZE", "QUERY_GOVERNOR_COST_LIMIT":
		v, err := r.value(st.Value, types.BigIntType)
		if err != nil {
			return err
		}
		n, ok := v.(int64)
		if st.Option == "ROWCOUNT" && (!ok || n < 0) {
			return mserr.InvalidRowCount()
		}
		return s.setNumber(st.Option, n)
	case "CONTEXT_INFO":
		v, err := r.value(st.Value, types.VarBinaryOf(128))
		if err != nil {
			return err
		}
		b, ok := v.([]byte)
		if !ok {
			return mserr.Of(8165)
		}
		info := make([]byte, 128)
		copy(info, b)
		s.Options.ContextInfo = info
		return nil
	case "DEADLOCK_PRIORITY":
		return r.setDeadlockPriority(st)
	}
	v, err := r.value(st.Value, types.NVarCharOf(128))
	if err != nil {
		return err
	}
	text, _ := v.(string)
	switch st.Option {
	case "DATEFORMAT":
		order, ok := types.DateOrderByName(text)
		if !ok {
			return mserr.Of(2741, text)
		}
		s.Options.Locale.Order = order
	case "LANGUAGE":
		language := types.LanguageByName(text)
		if language == nil {
			return mserr.NoLanguage(text)
		}
		old := types.LanguageOf(s.Options.Locale).Name
		s.Options.SetLanguage(language)
		if err := r.out.EnvChange(answer.EnvChange{Kind: answer.EnvLanguage, New: language.Name, Old: old}); err != nil {
			return err
		}
		return r.info(mserr.LanguageSetting(language.Name))
	default:
		return mserr.UnknownOption(st.Option, "SET")
	}
	return nil
}

// setNumber sets an option whose value is a number.
func (s *Session) setNumber(option string, n int64) error {
	switch option {
	case "LOCK_TIMEOUT":
		if n < -1 || n > 2147483647 {
			return mserr.Of(1003, n)
		}
		s.Options.LockTimeout = int(n)
	case "ROWCOUNT":
		s.Options.RowCount = n
	case "DATEFIRST":
		if n < 1 || n > 7 {
			return mserr.Of(2742, n)
		}
		s.Options.DateFirst = int(n)
	case "TEXTSIZE":
		switch {
		case n == 0: // "A value of 0 resets the size to the default value of 4 KB" (SET TEXTSIZE)
			n = 4096
		case n < 0 || n > 2147483647: // "-1 indicates unlimited size"
			n = 2147483647
		}
		s.Options.TextSize = int(n)
	}
	return nil
}

// setDeadlockPriority executes SET DEADLOCK_PRIORITY.
func (r settings) setDeadlockPriority(st *syntax.SetValueStmt) error {
	v, t, err := r.eval(st.Value)
	if err != nil {
		return err
	}
	priority, ok := 0, false
	if text, isText := v.(string); isText {
		priority, ok = deadlockWords[strings.ToUpper(text)]
	} else if n, isNumber := v.(int64); isNumber && t.IsInteger() {
		priority, ok = int(n), n >= -10 && n <= 10
	}
	if !ok {
		return mserr.Of(2789)
	}
	r.s.SetPriority(priority)
	return nil
}

// setIdentityInsert executes SET IDENTITY_INSERT.
func (r settings) setIdentityInsert(st *syntax.SetIdentityInsertStmt) error {
	s := r.s
	var d *catalog.Database
	t := r.localTable(st.Table.Last())
	if t == nil {
		o, db, err := r.object(st.Table)
		if err != nil {
			return err
		}
		t, _ = o.(*catalog.Table)
		d = db
	}
	name := st.Table.String()
	if t == nil {
		return mserr.NoObjectOrPermission(name).WithState(11)
	}
	if t.IdentityColumn() == nil {
		return mserr.NoIdentity(name)
	}
	target := &session.IdentityInsert{Object: t.ObjectID, Name: name}
	if d != nil {
		target.Database = d.ID
		target.Name = d.Name + "." + d.QualifiedName(t)
		if !s.May(d, "ALTER", catalog.Securable{Class: catalog.ClassObject, Major: int(t.ObjectID)}) {
			return mserr.NoObjectOrPermission(name).WithState(11)
		}
	}
	current := s.Options.IdentityInsert
	same := current != nil && current.Object == target.Object && current.Database == target.Database
	switch {
	case !st.On:
		if same {
			s.Options.IdentityInsert = nil
		}
	case current != nil && !same:
		return mserr.IdentityInsertElsewhere(current.Name, name)
	default:
		s.Options.IdentityInsert = target
	}
	return nil
}

// use executes USE.
func (r settings) use(name string) error {
	s := r.s
	if r.f.kind == procFrame || r.f.kind == functionFrame {
		return mserr.NotAllowedIn("a USE database statement", "procedure, function or trigger")
	}
	d := s.DatabaseByName(name)
	if d == nil {
		return mserr.NoDatabase(name)
	}
	if _, ok := s.Login.UserIn(d); !ok {
		return mserr.DatabaseAccess(s.LoginName(), d.Name)
	}
	return r.switchDatabase(d)
}

// switchDatabase changes the current database and notifies the client.
func (r settings) switchDatabase(d *catalog.Database) error {
	s := r.s
	old := s.DatabaseByID(s.DatabaseID)
	if err := s.Enter(d.ID); err != nil {
		return err
	}
	s.DatabaseID = d.ID
	r.f.schema = s.DefaultSchema()
	if err := r.out.EnvChange(databaseChange(d, old)); err != nil {
		return err
	}
	return r.info(mserr.DatabaseContext(d.Name))
}

// databaseChange notifies a client of its new current database; old is nil after its end.
func databaseChange(d, old *catalog.Database) answer.EnvChange {
	c := answer.EnvChange{Kind: answer.EnvDatabase, New: d.Name, Old: "master", NewCollation: d.Collation(), OldCollation: old.Collation()}
	if old != nil {
		c.Old = old.Name
	}
	return c
}

// setStatistics executes SET STATISTICS. TIME sends a message after each statement. IO has no
// effect, because reads are not counted, and a message says so. The other options are refused.
func (r settings) setStatistics(st *syntax.SetStatisticsStmt) error {
	for _, option := range st.Options {
		switch {
		case option == "TIME":
			r.s.Options.StatisticsTime = st.On
		case !st.On:
		case option == "IO":
			err := r.info(mserr.New(0, 0, "tsqld: SET STATISTICS IO has no effect, because the embedded server does not count reads."))
			if err != nil {
				return err
			}
		default:
			return mserr.NotSupported("SET STATISTICS %s ON", option)
		}
	}
	return nil
}

// executionTimes is message 3612. The processor time of statements is not measured.
func executionTimes(elapsed time.Duration) *mserr.Error {
	return mserr.New(3612, 10, "\r\n SQL Server Execution Times:\r\n   CPU time = 0 ms,  elapsed time = %d ms.", elapsed.Milliseconds())
}
