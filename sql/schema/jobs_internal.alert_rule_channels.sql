-- The channels of each rule.
--
-- Columns:
--   rule_id     The rule.
--   channel_id  The channel; it cannot be deleted while a rule uses it.
CREATE TABLE jobs_internal.alert_rule_channels (
    rule_id    INT NOT NULL,
    channel_id INT NOT NULL,
    CONSTRAINT PK_alert_rule_channels PRIMARY KEY (rule_id, channel_id),
    CONSTRAINT FK_alert_rule_channels_alert_rules FOREIGN KEY (rule_id)
        REFERENCES jobs_internal.alert_rules (rule_id) ON DELETE CASCADE,
    CONSTRAINT FK_alert_rule_channels_alert_channels FOREIGN KEY (channel_id) REFERENCES jobs_internal.alert_channels (channel_id)
);

CREATE INDEX IX_alert_rule_channels_channel_id ON jobs_internal.alert_rule_channels (channel_id);
