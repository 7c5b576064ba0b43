package targets

// Class is what kind of thing an error is. Every class is retried by the step's policy, as Azure does;
// the class is for people and for the agent's own waits.
type Class string

// The classes. The zero value is none.
const (
	// ClassTransient errors pass by themselves: a failover, a throttled or overloaded server.
	ClassTransient Class = "Transient"
	// ClassDeadlock: the statement was the victim of a deadlock; it can be sent again at once.
	ClassDeadlock Class = "Deadlock"
	// ClassTimeout: something took too long: a lock, a connection, a query.
	ClassTimeout Class = "Timeout"
	// ClassLostConnection: the network or the server ended the connection.
	ClassLostConnection Class = "LostConnection"
	// ClassAuth: a login, user or permission is wrong; somebody must change it.
	ClassAuth Class = "Auth"
	// ClassConfig: a name or setting of the agent's configuration is wrong; nothing was sent.
	ClassConfig Class = "Config"
	// ClassPermanent is every other error: most likely the script's.
	ClassPermanent Class = "Permanent"
)
