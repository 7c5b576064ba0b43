package model

// Field is a field of what a caller gives of an object. S is the type of what is given, in which a
// nil pointer means that the field is not given. V are the settings that each object has a value
// of.
type Field[S, V any] struct {
	// Name is the name of the parameter of the procedures, and of the column of the views.
	Name string
	// Flag is the flag of the commands without dashes, and Usage its description.
	Flag, Usage string
	// Seconds says that the number is a duration.
	Seconds bool
	// Extension says that Azure Elastic Jobs does not have the field: it is a column of
	// jobs.jobstep_options.
	Extension bool
	// Words name a value that is not the default and describe it, for people; nil: pages have words
	// of their own.
	Words func(*V) (name, text string)

	given   func(*S) (any, bool)
	value   func(*V) any
	take    func(*S, *V)
	differs func(a, b *V) bool
}

// Given returns the value that a caller gives; false if the caller does not give one.
func (f *Field[S, V]) Given(s *S) (any, bool) { return f.given(s) }

// Value returns a pointer to the value in settings: a *string, *int, *float64 or *bool. It returns
// nil for a field that settings do not have.
func (f *Field[S, V]) Value(v *V) any {
	if f.value == nil {
		return nil
	}
	return f.value(v)
}

// Take gives the value that settings have.
func (f *Field[S, V]) Take(s *S, v *V) { f.take(s, v) }

// Differs reports whether two settings have different values of the field.
func (f *Field[S, V]) Differs(a, b *V) bool { return f.differs(a, b) }

// Changes returns what differs between settings.
func Changes[S, V any](fields []Field[S, V], now, before *V) S {
	var s S
	for i := range fields {
		if f := &fields[i]; f.value != nil && f.differs(now, before) {
			f.take(&s, now)
		}
	}
	return s
}

// Flags returns the flags of fields by the names of the parameters.
func Flags[S, V any](fields []Field[S, V]) map[string]string {
	flags := map[string]string{}
	for i := range fields {
		if fields[i].Flag != "" {
			flags[fields[i].Name] = fields[i].Flag
		}
	}
	return flags
}

// setting declares a field that settings have a value of.
func setting[S, V any, T comparable](f Field[S, V], given func(*S) **T, value func(*V) *T) Field[S, V] {
	f = argument(f, given)
	f.value = func(v *V) any { return value(v) }
	f.take = func(s *S, v *V) { *given(s) = new(*value(v)) }
	f.differs = func(a, b *V) bool { return *value(a) != *value(b) }
	return f
}

// argument declares a field that an object may lack.
func argument[S, V, T any](f Field[S, V], given func(*S) **T) Field[S, V] {
	f.given = func(s *S) (any, bool) {
		if v := *given(s); v != nil {
			return *v, true
		}
		return nil, false
	}
	return f
}

// The lengths of texts, in UTF-16 code units, as SQL Server counts the characters of NVARCHAR.
const (
	MaxName        = 128 // of an object, database or pool
	MaxServer      = 256
	MaxDescription = 512
	MaxNote        = 1000
	MaxTagFilter   = 4000
	MaxMemberQuery = 4000
)

// UsageDescription describes the flag of a description.
const UsageDescription = "free text, at most 512 characters"

// The scopes of limits: the kinds of objects whose concurrent targets are limited.
const (
	LimitJob         = "Job"
	LimitServer      = "Server"
	LimitElasticPool = "ElasticPool"
	LimitCredential  = "Credential"
	LimitAgent       = "Agent" // all targets of the control database; its name is "*"
)

// LimitScopes lists the scopes of limits.
func LimitScopes() []string {
	return []string{LimitJob, LimitServer, LimitElasticPool, LimitCredential, LimitAgent}
}

// Limit is the number of targets that run at once. Its tags are those of steps, but the files of
// jobagent apply call server_name server.
type Limit struct {
	Scope string `db:"scope" json:"scope" rule:"required,enum=Job|Server|ElasticPool|Credential|Agent" doc:"What is limited. Agent: all targets of the control database."`
	// Name is that of the job, server, pool or credential. "*" stands for all that have no limit of
	// their own, each counted by itself, and "(default)" for the agents' default credential.
	Name string `db:"name" json:"name" rule:"default=*,max=256" doc:"Name of the job, server, pool or credential. \"*\": each one that has no limit of its own. (default): steps without a credential."`
	// Server is the elastic pool's server. It is empty for pools of this name on any server, and
	// for other scopes.
	Server string `db:"server_name" json:"server" rule:"max=256" doc:"Server of an elastic pool."`
	Max    int    `db:"max_concurrent_targets" json:"max_concurrent_targets" rule:"required,min=1,max=2147483647" doc:"The limit."`
}
