package fault

// Failing are answers of servers while a database fails over: those of Azure SQL Database, and
// those of an availability group's replica that is a secondary, or has no role yet. Connections end
// with an error of class 20, and with every error at the login.
var Failing = []Refusal{
	{Number: 40613, State: 1, Class: 17, Text: "Database 'control' on server 'fault' is not currently available. Please retry the connection later."},
	{Number: 40197, State: 1, Class: 20, Text: "The service has encountered an error processing your request. Please try again. Error code 40143."},
	{Number: 976, State: 1, Class: 14, Text: "The target database, 'control', is participating in an availability group and is currently not accessible for queries."},
	{Number: 983, State: 1, Class: 14, Text: "Unable to access availability database 'control' because the database replica is not in the PRIMARY or SECONDARY role."},
}

// FailOver begins a failover: every connection breaks, and until Heal, logins are answered with r.
// Clients do not see whether the same server is behind the network afterwards or another one. While
// no server listens there, connections are refused. Logins inside of TLS are not answered.
func (n *Network) FailOver(r Refusal) {
	r.Logins, r.Ends = true, true
	n.Refuse(r)
	n.Cut()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
}
