package importer

import "github.com/jobagent/jobagent/jobs/schedule"

// Zone returns the IANA zone of an IANA name or of a Windows name in any case, such as SQL Server's
// CURRENT_TIMEZONE_ID() returns (D-Z1). The error is a *schedule.Error.
func Zone(name string) (string, error) {
	zone, err := schedule.LoadZone(name)
	if err != nil {
		return "", err
	}
	return zone.String(), nil
}
