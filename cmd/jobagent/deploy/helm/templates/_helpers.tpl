{{- define "jobagent.labels" -}}
app.kubernetes.io/name: jobagent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "jobagent.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* The part of a pod that is the same for agents, fronts and the migration. */}}
{{- define "jobagent.pod" -}}
serviceAccountName: {{ .Release.Name }}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "jobagent.container" -}}
image: {{ include "jobagent.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "jobagent.probes" -}}
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 10
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
{{- end }}

{{- define "jobagent.mounts" -}}
- {name: config, mountPath: /etc/jobagent/config, readOnly: true}
- {name: secrets, mountPath: /etc/jobagent/secrets, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "jobagent.volumes" -}}
- name: config
  configMap: {name: {{ .Release.Name }}}
- name: secrets
  secret: {secretName: {{ .Values.existingSecret | quote }}, defaultMode: 0440}
- name: tmp
  emptyDir: {}
{{- end }}
