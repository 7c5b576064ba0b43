package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// zoneColumns are those of schedule zones.
var zoneColumns = output.Columns([]output.Column[output.Zone]{
	{Name: "time_zone", Header: "ZONE", ID: true, Keep: true},
	{Name: "windows_name", Header: "WINDOWS NAME", Min: 12, Rest: true},
	{Name: "offset", Header: "UTC", Keep: true},
	{Name: "abbreviation", Header: "SHORT", Drop: 5},
	{Name: "next_change", Header: "NEXT CHANGE (UTC)", Drop: 2},
	{Name: "next_offset", Header: "THEN", Drop: 1},
})

func newZonesCommand(p *output.Printer) *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use: "zones [FILTER]", Short: "List time zones: their names, their offsets now and their next changes; needs no database",
		Long: `List time zones: their names, their offsets now and their next changes; needs no database. FILTER is a part of
an IANA name or of a Windows name (berlin, "w. europe"), a present offset from UTC (+01:00, UTC-5), or the
present abbreviation (CET). Every zone of a schedule may have either name. A Windows name stands for one zone in all
countries, that of territory 001 in Unicode CLDR: W. Europe Standard Time is Europe/Berlin, also for Vienna. Where
that is not enough, use the IANA name.

The rules are those of this machine. An agent uses the rules of its own machine: see jobagent agent status.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if limit < 1 {
				return exit.Usagef("--limit %d: must be at least 1", limit)
			}
			filter := strings.TrimSpace(strings.Join(args, ""))
			views := []output.Zone{}
			for _, z := range schedule.ZonesAt(time.Now()) {
				if len(views) < limit && matches(z, filter) {
					views = append(views, viewZone(z))
				}
			}
			if len(views) == 0 {
				return exit.With(exit.CodeNotFound, noZone(filter))
			}
			return output.List(p, views, zoneColumns)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 1000, "maximum number of zones")
	return command.List(p, zoneColumns, cmd)
}

// viewZone converts a zone for -o json.
func viewZone(z schedule.ZoneInfo) output.Zone {
	v := output.Zone{Name: z.Name, Windows: z.Windows, Offset: offsetText(z.Offset), Abbreviation: z.Abbreviation}
	if !z.Change.IsZero() {
		v.Change, v.NextOffset = &z.Change, offsetText(z.NextOffset)
	}
	return v
}

// offsetText returns an offset such as +01:00.
func offsetText(seconds int) string {
	return time.Unix(0, 0).In(time.FixedZone("", seconds)).Format("-07:00")
}

// matches reports whether a zone has a name, a present offset or a present abbreviation that the
// filter describes. An empty filter matches all.
func matches(z schedule.ZoneInfo, filter string) bool {
	part := strings.ToLower(filter)
	if strings.Contains(strings.ToLower(z.Name), strings.ReplaceAll(part, " ", "_")) || strings.Contains(strings.ToLower(z.Windows), part) {
		return true
	}
	if strings.EqualFold(z.Abbreviation, filter) {
		return true
	}
	for _, before := range []string{"utc", "gmt"} {
		part = strings.TrimSpace(strings.TrimPrefix(part, before))
	}
	if len(part) == 2 {
		part = part[:1] + "0" + part[1:] // +1
	}
	offset, err := schedule.ParseOffset(part)
	return err == nil && offset == z.Offset && strings.ContainsAny(part, "+-")
}

// noZone says that no zone matches, and what LoadZone says of the filter.
func noZone(filter string) error {
	var all *schedule.Error
	if _, err := schedule.LoadZone(filter); !errors.As(err, &all) {
		return fmt.Errorf("no zone matches %q", filter)
	}
	text := fmt.Sprintf("no zone matches %q: want a part of an IANA or Windows name, an offset such as +01:00, or an abbreviation such as CET", filter)
	if near := all.Faults[0].Nearest; near != "" {
		text += "; try " + near
	}
	return errors.New(text)
}
