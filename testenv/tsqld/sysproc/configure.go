package sysproc

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// advancedOption is the configuration_id of "show advanced options".
const advancedOption = 518

// noEffectOptions are the options of sp_configure without an observable effect here: memory,
// processors, locks, full-text search, backups. Their values can be changed. All other options only
// accept their current value.
var noEffectOptions = map[int64]bool{
	101: true, 106: true, 107: true, 109: true, 503: true, 505: true, advancedOption: true, 1505: true, 1517: true,
	1519: true, 1520: true, 1531: true, 1532: true, 1535: true,
	1536: true, 1537: true, 1538: true, 1539: true, 1540: true, 1541: true, 1543: true, 1544: true, 1546: true,
	1549: true, 1550: true, 1551: true, 1555: true, 1556: true,
	1557: true, 1563: true, 1564: true, 1565: true, 1566: true, 1567: true, 1568: true, 1569: true, 1570: true,
	1579: true, 1581: true, 1582: true, 1583: true, 1584: true,
	1585: true, 1589: true, 1591: true, 1592: true, 1598: true, 1602: true, 16387: true,
}

// configure executes sp_configure @configname, @configvalue. New values last until the server
// stops.
func (r *Executor) configure(a Arguments) (int32, error) {
	in := r.s.Server
	options := slices.SortedFunc(slices.Values(catalog.Configurations()), func(x, y catalog.Configuration) int {
		return cmp.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name))
	})
	advanced := in.Setting(advancedOption).Running != 0
	options = slices.DeleteFunc(options, func(c catalog.Configuration) bool { return c.Advanced && !advanced })
	name, given := a["configname"].(string)
	if !given {
		if a["configvalue"] != nil {
			return 1, mserr.InvalidProcArgument("sp_configure")
		}
		return r.showOptions(options)
	}
	options = matchOptions(options, name)
	switch len(options) {
	case 0:
		return 1, mserr.NoConfiguration(name)
	case 1:
	default:
		m := mserr.AmbiguousConfiguration(name)
		m.Line, m.Proc = 1, "sp_configure"
		if err := r.host.Info(m); err != nil {
			return 1, err
		}
		return r.showOptions(options)
	}
	c := options[0]
	value, given := a["configvalue"].(int64)
	if !given {
		return r.showOptions(options)
	}
	now := in.Setting(c.ID)
	switch {
	case !r.s.Sysadmin():
		return 1, mserr.ActionPermission()
	case value < c.Minimum && value != c.Value || value > c.Maximum:
		return 1, mserr.InvalidConfiguration(value, c.Name)
	case value != now.Configured && !noEffectOptions[c.ID]:
		return 1, mserr.NotSupported("sp_configure '%s', %d", c.Name, value)
	}
	in.Configure(c.ID, value)
	m := mserr.Of(15457, c.Name, now.Configured, value)
	m.Line, m.Proc = 1, "sp_configure"
	return 0, r.host.Info(m)
}

// matchOptions returns the options with a name, or else the options whose names contain it.
func matchOptions(options []catalog.Configuration, name string) []catalog.Configuration {
	var out []catalog.Configuration
	for _, c := range options {
		if strings.EqualFold(c.Name, name) {
			return []catalog.Configuration{c}
		}
		if strings.Contains(strings.ToLower(c.Name), strings.ToLower(name)) {
			out = append(out, c)
		}
	}
	return out
}

// showOptions sends options in the format of sp_configure.
func (r *Executor) showOptions(options []catalog.Configuration) (int32, error) {
	var rows [][]types.Value
	for _, c := range options {
		now := r.s.Server.Setting(c.ID)
		rows = append(rows, []types.Value{c.Name, c.Minimum, c.Maximum, now.Configured, now.Running})
	}
	return r.sendAll(columns("name nvarchar(35), minimum int NULL, maximum int NULL, config_value int NULL, run_value int NULL"), rows)
}

// Reconfigure executes RECONFIGURE. Configured values take effect, except for options that need a
// restart.
func (r *Executor) Reconfigure() error {
	if !r.s.Sysadmin() {
		return mserr.Of(5812)
	}
	r.s.Server.Reconfigure()
	return nil
}
