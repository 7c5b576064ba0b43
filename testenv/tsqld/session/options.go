package session

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Options are the SET options of a session. The end of a procedure reverts its changes.
type Options struct {
	AnsiNulls            bool
	AnsiPadding          bool
	AnsiWarnings         bool
	AnsiNullDefaultOn    bool
	AnsiNullDefaultOff   bool
	ArithAbort           bool
	ArithIgnore          bool
	ConcatNullYieldsNull bool
	CursorCloseOnCommit  bool
	forcePlan            bool
	ImplicitTransactions bool
	NoCount              bool
	NoExec               bool
	numericRoundAbort    bool
	ParseOnly            bool
	QuotedIdentifier     bool
	ShowPlan             bool // SHOWPLAN_XML
	XactAbort            bool
	FmtOnly              bool
	Browse               bool // NO_BROWSETABLE
	StatisticsTime       bool

	RowCount         int64 // SET ROWCOUNT; 0 means no limit
	TextSize         int   // bytes
	DateFirst        int   // 1 is Monday, 7 is Sunday
	Locale           types.Locale
	LockTimeout      int // milliseconds; -1 means no limit
	deadlockPriority int // -10 to 10
	Isolation        syntax.Isolation
	ContextInfo      []byte
	IdentityInsert   *IdentityInsert
}

// IdentityInsert is the table for which IDENTITY_INSERT is ON. There is at most one in a session.
type IdentityInsert struct {
	Database int
	Object   int32
	Name     string // as in message 8107
}

// defaultOptions returns the options after the login of a current driver.
func defaultOptions() Options {
	return Options{
		AnsiNulls: true, AnsiPadding: true, AnsiWarnings: true, AnsiNullDefaultOn: true, ArithAbort: true,
		ConcatNullYieldsNull: true, QuotedIdentifier: true,
		TextSize: 2147483647, DateFirst: 7, LockTimeout: -1, Isolation: syntax.ReadCommitted,
	}
}

// SetLanguage sets the language and what follows from it: DATEFORMAT and DATEFIRST.
func (o *Options) SetLanguage(l *types.Language) { o.Locale, o.DateFirst = l.Locale(), l.FirstDay }

// toggle is an ON/OFF option: its field, its bit in @@OPTIONS, and the only supported value if not
// both are supported.
type toggle struct {
	get  func(o *Options) *bool
	bit  int
	only *bool
}

var (
	onlyOn  = ptr(true)
	onlyOff = ptr(false)
)

// ptr returns a pointer to a copy of v.
func ptr[T any](v T) *T { return &v }

// toggles are the ON/OFF options by name. The bits are those of the server option "user options".
var toggles = map[string]toggle{
	"ANSI_NULLS":                  {func(o *Options) *bool { return &o.AnsiNulls }, 32, onlyOn},
	"ANSI_PADDING":                {func(o *Options) *bool { return &o.AnsiPadding }, 16, onlyOn},
	"ANSI_WARNINGS":               {func(o *Options) *bool { return &o.AnsiWarnings }, 8, nil},
	"ANSI_NULL_DFLT_ON":           {func(o *Options) *bool { return &o.AnsiNullDefaultOn }, 1024, nil},
	"ANSI_NULL_DFLT_OFF":          {func(o *Options) *bool { return &o.AnsiNullDefaultOff }, 2048, nil},
	"ARITHABORT":                  {func(o *Options) *bool { return &o.ArithAbort }, 64, nil},
	"ARITHIGNORE":                 {func(o *Options) *bool { return &o.ArithIgnore }, 128, nil},
	"CONCAT_NULL_YIELDS_NULL":     {func(o *Options) *bool { return &o.ConcatNullYieldsNull }, 4096, onlyOn},
	"CURSOR_CLOSE_ON_COMMIT":      {func(o *Options) *bool { return &o.CursorCloseOnCommit }, 4, nil},
	"FORCEPLAN":                   {func(o *Options) *bool { return &o.forcePlan }, 0, nil},
	"IMPLICIT_TRANSACTIONS":       {func(o *Options) *bool { return &o.ImplicitTransactions }, 2, nil},
	"NOCOUNT":                     {func(o *Options) *bool { return &o.NoCount }, 512, nil},
	"NOEXEC":                      {func(o *Options) *bool { return &o.NoExec }, 0, nil},
	"NUMERIC_ROUNDABORT":          {func(o *Options) *bool { return &o.numericRoundAbort }, 8192, onlyOff},
	"PARSEONLY":                   {func(o *Options) *bool { return &o.ParseOnly }, 0, nil},
	"QUOTED_IDENTIFIER":           {func(o *Options) *bool { return &o.QuotedIdentifier }, 256, nil},
	"XACT_ABORT":                  {func(o *Options) *bool { return &o.XactAbort }, 16384, nil},
	"FMTONLY":                     {func(o *Options) *bool { return &o.FmtOnly }, 0, nil},
	"DISABLE_DEF_CNST_CHK":        {nil, 0, onlyOff},
	"REMOTE_PROC_TRANSACTIONS":    {nil, 0, onlyOff},
	"SHOWPLAN_ALL":                {nil, 0, onlyOff},
	"SHOWPLAN_TEXT":               {nil, 0, onlyOff},
	"SHOWPLAN_XML":                {func(o *Options) *bool { return &o.ShowPlan }, 0, nil},
	"RESULT_SET_CACHING":          {nil, 0, onlyOff},
	"NO_BROWSETABLE":              {func(o *Options) *bool { return &o.Browse }, 0, nil},
	"OFFSETS":                     {nil, 0, onlyOff},
	"ROWGUID_RESULTS":             {nil, 0, onlyOff},
	"MEMORY_OPTIMIZED_ELEVATE":    {nil, 0, nil},
	"STATISTICS_INCREMENTAL_AUTO": {nil, 0, nil},
}

// SetFlag executes SET name ON|OFF.
func (o *Options) SetFlag(name string, on bool) error {
	if name == "ANSI_DEFAULTS" {
		for _, n := range []string{
			"ANSI_NULLS", "ANSI_NULL_DFLT_ON", "ANSI_PADDING", "ANSI_WARNINGS", "CURSOR_CLOSE_ON_COMMIT",
			"IMPLICIT_TRANSACTIONS", "QUOTED_IDENTIFIER",
		} {
			if err := o.SetFlag(n, on); err != nil {
				return err
			}
		}
		return nil
	}
	f, ok := toggles[name]
	if !ok {
		return mserr.UnknownOption(name, "SET")
	}
	if f.only != nil && *f.only != on {
		state := "OFF"
		if on {
			state = "ON"
		}
		return mserr.NotSupported("SET %s %s", name, state)
	}
	// With both OFF arithmetic errors would give NULL, even in columns that are NOT NULL.
	if !on && (name == "ARITHABORT" && !o.AnsiWarnings || name == "ANSI_WARNINGS" && !o.ArithAbort) {
		return mserr.NotSupported("SET ARITHABORT OFF together with SET ANSI_WARNINGS OFF")
	}
	if f.get != nil {
		*f.get(o) = on
	}
	switch {
	case name == "ANSI_NULL_DFLT_ON" && on:
		o.AnsiNullDefaultOff = false
	case name == "ANSI_NULL_DFLT_OFF" && on:
		o.AnsiNullDefaultOn = false
	}
	return nil
}

// wrongForIndexes returns the options whose values do not allow changes of tables with indexes on
// computed columns or filtered indexes, in the order of message 1934. It returns "" if there are
// none. ARITHABORT is never wrong: ANSI_WARNINGS ON implies ARITHABORT ON, and SetFlag does not
// allow both to be OFF
// (https://learn.microsoft.com/sql/t-sql/statements/set-statements-transact-sql#considerations-when-you-use-the-set-statements).
// The other options of that list always have the right value here.
func (o *Options) wrongForIndexes() string {
	if o.QuotedIdentifier && o.AnsiWarnings {
		return ""
	}
	var names []string
	if !o.QuotedIdentifier {
		names = append(names, "QUOTED_IDENTIFIER")
	}
	if !o.AnsiWarnings {
		names = append(names, "ANSI_WARNINGS")
	}
	return strings.Join(names, ", ")
}

// CheckIndexOptions returns error 1934 if the options of the session do not allow verb for a table
// with its indexes.
func (s *View) CheckIndexOptions(verb string, t *catalog.Table) error {
	names := s.Options.wrongForIndexes()
	if names == "" || !t.NeedsOptions() {
		return nil
	}
	return mserr.WrongOptions(verb, names)
}

// EnterModule sets the options that are stored with a module. They last until the end of the
// module's activation
// (https://learn.microsoft.com/sql/t-sql/statements/set-quoted-identifier-transact-sql).
func (s *View) EnterModule(m *catalog.Module) {
	s.Options.QuotedIdentifier, s.Options.AnsiNulls = m.QuotedIdentifier, m.AnsiNulls
}

// Mask returns @@OPTIONS.
func (o *Options) Mask() int {
	m := 0
	for _, f := range toggles {
		if f.get != nil && *f.get(o) {
			m |= f.bit
		}
	}
	return m
}

// sessionOptions returns the options for the views of sessions.
func (o *Options) sessionOptions() sysviews.SessionOptions {
	return sysviews.SessionOptions{
		Isolation: int(o.Isolation), LockTimeout: int64(o.LockTimeout), DeadlockPriority: o.deadlockPriority,
		TextSize: int64(o.TextSize), DateFirst: o.DateFirst,
		Language: types.LanguageOf(o.Locale).Name, DateFormat: o.Locale.Order.String(), ContextInfo: o.ContextInfo,
		QuotedIdentifier: o.QuotedIdentifier, ArithAbort: o.ArithAbort,
		AnsiNullDefault: o.AnsiNullDefaultOn, AnsiWarnings: o.AnsiWarnings, AnsiPadding: o.AnsiPadding,
		AnsiNulls: o.AnsiNulls, ConcatNull: o.ConcatNullYieldsNull,
		CursorClose: o.CursorCloseOnCommit, Implicit: o.ImplicitTransactions,
	}
}

// RestoreOptions reverts the SET statements of a procedure or dynamic batch. CONTEXT_INFO is not
// reverted.
func (s *View) RestoreOptions(saved Options) {
	if s.Options.deadlockPriority != saved.deadlockPriority {
		s.Server.Locks.SetPriority(s.Locks, saved.deadlockPriority)
	}
	info := s.Options.ContextInfo
	s.Options = saved
	s.Options.ContextInfo = info
}

// isolationNames are the isolation levels as DBCC USEROPTIONS shows them.
var isolationNames = map[syntax.Isolation]string{
	syntax.ReadUncommitted: "read uncommitted",
	syntax.ReadCommitted:   "read committed",
	syntax.RepeatableRead:  "repeatable read",
	syntax.Serializable:    "serializable",
	syntax.Snapshot:        "snapshot",
}

// Listed returns the names and values of the options that are set, in the order of the
// documentation of DBCC USEROPTIONS. versions says that READ COMMITTED reads row versions in the
// current database.
func (o *Options) Listed(versions bool) [][2]string {
	rows := [][2]string{
		{"textsize", strconv.Itoa(o.TextSize)}, {"language", types.LanguageOf(o.Locale).Name},
		{"dateformat", o.Locale.Order.String()},
		{"datefirst", strconv.Itoa(o.DateFirst)}, {"lock_timeout", strconv.Itoa(o.LockTimeout)},
	}
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"quoted_identifier", o.QuotedIdentifier}, {"arithabort", o.ArithAbort}, {"arithignore", o.ArithIgnore},
		{"nocount", o.NoCount},
		{"implicit_transactions", o.ImplicitTransactions}, {"cursor_close_on_commit", o.CursorCloseOnCommit},
		{"ansi_null_dflt_on", o.AnsiNullDefaultOn}, {"ansi_null_dflt_off", o.AnsiNullDefaultOff},
		{"xact_abort", o.XactAbort}, {"ansi_warnings", o.AnsiWarnings},
		{"ansi_padding", o.AnsiPadding}, {"ansi_nulls", o.AnsiNulls},
		{"concat_null_yields_null", o.ConcatNullYieldsNull},
	} {
		if f.on {
			rows = append(rows, [2]string{f.name, "SET"})
		}
	}
	level := isolationNames[o.Isolation]
	if versions && o.Isolation == syntax.ReadCommitted {
		level = "read committed snapshot"
	}
	return append(rows, [2]string{"isolation level", level})
}
