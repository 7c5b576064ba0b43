-- The tenant that fails its first attempt: it sends the first visitor away.
UPDATE dbo.MaintenanceWindow SET IsOpen = 1;
