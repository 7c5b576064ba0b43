-- The tenant that fails the first attempt.
UPDATE dbo.MaintenanceWindow SET IsOpen = 1;
