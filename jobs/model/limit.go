package model

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
