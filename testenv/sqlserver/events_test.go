package sqlserver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The summary of an escalation comes from fields and actions; names of enumerations are in <text>.
func TestParseEvent(t *testing.T) {
	e, err := parseEvent(Escalation, `<event name="lock_escalation" package="sqlserver" timestamp="2026-11-22T19:00:01.250Z">
<data name="mode"><value>5</value><text>X</text></data>
<data name="escalation_cause"><value>0</value><text>Lock threshold</text></data>
<data name="escalated_lock_count"><value>6249</value></data>
<data name="object_id"><value>98765</value></data>
<data name="database_name"><value></value></data>
<action name="database_name" package="sqlserver"><value>control_1</value></action>
<action name="client_app_name" package="sqlserver"><value>jobagent</value></action>
<action name="sql_text" package="sqlserver"><value>EXEC jobs_internal.controller_pass</value></action></event>`)
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 11, 22, 19, 0, 1, 250_000_000, time.UTC), e.At.UTC())
	require.Equal(t, "database control_1, object 98765, mode X, 6249 locks (Lock threshold), by jobagent: EXEC jobs_internal.controller_pass", e.Summary)

	e, err = parseEvent(Deadlock, `<event name="xml_deadlock_report" timestamp="2026-11-22T19:00:02Z"><data name="xml_report"><value><deadlock><victim-list/></deadlock></value></data></event>`)
	require.NoError(t, err)
	require.Empty(t, e.Summary)
	require.Contains(t, e.XML, "<victim-list/>")

	_, err = parseEvent(Deadlock, "<event")
	require.Error(t, err)
}
