# Runs in the container of TestSystemd. Each result is a file of /trial/out, which appears complete.
cd /trial

# result NAME: its standard input is a result.
result() { cat >"out/.$1" && mv "out/.$1" "out/$1"; }
# state UNIT: how often systemd has restarted it, and whether it runs.
state() { systemctl show "$1" --property=NRestarts --value; systemctl is-active "$1"; }
# until_restarted UNIT: waits until systemd has restarted it once and it has started.
until_restarted() {
	for _ in $(seq 600); do
		[ "$(state "$1" | tr '\n' ' ')" = "1 active " ] && return
		sleep 0.1
	done
}
log_since() { journalctl --no-pager --quiet --output=cat --unit="$1" --since="$2"; }
now() { sleep 1.1; date '+%F %T'; }

# As PRODUCTION.md has it, for a package in this folder.
dpkg --install jobagent.deb
systemd-analyze verify /usr/lib/systemd/system/jobagent.service /usr/lib/systemd/system/jobagent-serve.service 2>&1 | result verify
for unit in jobagent jobagent-serve; do
	systemd-analyze security --no-pager $unit.service | tail -1 | result security-$unit
done
cp jobagent.json /etc/jobagent/
install -m 600 control-dsn job-password /etc/jobagent/
systemctl enable --now jobagent
{ echo $?; systemctl is-active jobagent; } | result started
until [ -e go-on ]; do sleep 0.1; done # the test has seen its job run

kill -KILL "$(systemctl show jobagent --property=MainPID --value)"
until_restarted jobagent
state jobagent | result killed

# The interval of the unit is five minutes.
mkdir -p /run/systemd/system/jobagent.service.d
printf '[Service]\nWatchdogSec=3\n' >/run/systemd/system/jobagent.service.d/trial.conf
systemctl daemon-reload
systemctl restart jobagent
since=$(now)
kill -STOP "$(systemctl show jobagent --property=MainPID --value)"
until_restarted jobagent
state jobagent | result hung
log_since jobagent "$since" | result hung-log

since=$(now)
systemctl stop jobagent
{ echo $?; systemctl is-active jobagent; } | result stopped
log_since jobagent "$since" | result stopped-log

since=$(now)
install -m 600 wrong-dsn /etc/jobagent/control-dsn
systemctl start jobagent
echo $? | result refused
systemctl stop jobagent
log_since jobagent "$since" | result refused-log

install -m 600 control-dsn /etc/jobagent/
echo '{"unknown": 1}' >/etc/jobagent/jobagent.json
systemctl start jobagent
code=$?
sleep 6 # longer than RestartSec
{ echo $code; echo "$(systemctl is-active jobagent) $(systemctl show jobagent --property=NRestarts --value)"; } | result invalid

cp jobagent-serve.json /etc/jobagent/
install -m 600 serve-dsn tls.crt tls.key tokens.json /etc/jobagent/
systemctl enable --now jobagent-serve
{ echo $?; systemctl is-active jobagent-serve; } | result served
for _ in $(seq 100); do
	{
		code=$(printf 'GET /readyz HTTP/1.0\r\n\r\n' | timeout 5 openssl s_client -quiet -connect "$(cat address)" 2>/dev/null | head -1 | cut -d' ' -f2)
	}
	[ "$code" = 200 ] && break
	sleep 0.1
done
echo "$code" | result ready

dpkg --purge jobagent
echo $? | result removed
journalctl --no-pager --quiet | result journal
