CREATE PROCEDURE sys.sp_procedure_params_90_managed
    @procedure_name sysname, @group_number int = NULL, @procedure_schema sysname = NULL, @parameter_name sysname = NULL
AS
EXEC sys.sp_procedure_params_managed @procedure_name, @group_number, @procedure_schema, @parameter_name;
