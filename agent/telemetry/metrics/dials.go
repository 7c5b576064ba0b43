package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// targetVectors are the metrics of connections to target servers.
type targetVectors struct {
	opens, failures *prometheus.CounterVec
	logins          *prometheus.HistogramVec
}

func newTargetVectors(r registrar) targetVectors {
	return targetVectors{
		opens:    r.counters("jobagent_target_connections_opened_total", "Connections to target servers that were opened.", labelDatabase),
		failures: r.counters("jobagent_target_connection_failures_total", "Connections to target servers that could not be opened, by class of the error.", labelDatabase, labelClass),
		logins:   r.histograms("jobagent_target_login_duration_seconds", "Time to connect to a target server and to log in, or to fail.", calls, labelDatabase),
	}
}

func (v targetVectors) of(database string) *Dials {
	return &Dials{
		opens: v.opens.WithLabelValues(database), took: v.logins.WithLabelValues(database),
		failures: newFamily(func(class string) prometheus.Counter { return v.failures.WithLabelValues(database, class) }),
	}
}

// newDials returns the metrics of the connections of actions, which all control databases share.
func newDials(r registrar) *Dials {
	opens := r.counters("jobagent_outbound_connections_opened_total", "Connections of actions that were opened.")
	failures := r.counters("jobagent_outbound_connection_failures_total",
		"Connections of actions that could not be opened, by class of the error. Config: the agent's configuration does not allow it.", labelClass)
	took := r.histograms("jobagent_outbound_connect_duration_seconds", "Time to open a connection of an action, with TLS, or to fail.", calls)
	return &Dials{
		opens: opens.WithLabelValues(), took: took.WithLabelValues(),
		failures: newFamily(func(class string) prometheus.Counter { return failures.WithLabelValues(class) }),
	}
}

// Dials are the metrics of connections; nil collects nothing.
type Dials struct {
	opens    prometheus.Counter
	took     prometheus.Observer
	failures *family[string, prometheus.Counter]
}

// Dialed records the end of an attempt to connect. class is empty if it succeeded.
func (d *Dials) Dialed(elapsed time.Duration, class string) {
	if d == nil {
		return
	}
	seconds(d.took, elapsed)
	if class == "" {
		d.opens.Inc()
		return
	}
	d.failures.get(class).Inc()
}
